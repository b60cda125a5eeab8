/** Notifications of changed resources reach subscribers of the tenant, in all protocol versions. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Sdk1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Sdk1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { createTokenByApi } from "../support/create-token.ts";
import { deliver, issueOpened, SECRET } from "../support/deliver.ts";
import { commandSettings, type Host, hosts, startOn } from "../support/hosts.ts";
import { type HubProcess, runCli } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { openSse } from "../support/sse.ts";
import { tempFolder } from "../support/temp-folder.ts";

const ADMIN = "sbx_subscriptions_story";
const INBOX = "signalbox://inbox";
const uriOf = (id: string) => `signalbox://events/${id}`;

interface Fixture {
  hub: HubProcess;
  createToken(tenant: number | "*", ...args: string[]): Promise<{ id: string; token: string }>;
  revokeToken(id: string): Promise<unknown>;
}

async function startFixture(
  host: Host,
  data: string,
  extraEnv: Record<string, string> = {},
): Promise<Fixture> {
  const env = { SIGNALBOX_TENANCY: "github", SIGNALBOX_TOKEN: ADMIN, ...extraEnv };
  const hub = await startOn(host, { data, env: { GITHUB_WEBHOOK_SECRET: SECRET, ...env } });
  const settings = { ...env, ...commandSettings(host, hub, { data, token: ADMIN }) };
  return {
    hub,
    createToken: (tenant, ...args) =>
      createTokenByApi(hub.url, ADMIN, "--tenant", `${tenant}`, ...args),
    revokeToken: (id) => runCli(["token", "revoke", id], { env: settings }),
  };
}

/** Starts a separate hub, and stops it after the test. */
async function startForTest(
  host: Host,
  data = tempFolder(),
  extraEnv: Record<string, string> = {},
): Promise<Fixture> {
  const separate = await startFixture(host, data, extraEnv);
  onTestFinished(async () => void (await separate.hub.stop()));
  return separate;
}

let fixture: Fixture;
/** Starts one hub for all tests of a host. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-subscriptions-"));
  beforeAll(async () => {
    fixture = await startFixture(host, data);
  });
  afterAll(async () => {
    await fixture.hub.stop();
    rmSync(data, { recursive: true, force: true });
  });
}
let lastAccount = 100;
/** Returns the id of an account that no other test uses. Each account is a tenant. */
const newAccount = () => ++lastAccount;

/** Sends a webhook of this account. Returns the id of the event. */
async function send(hub: HubProcess, account: number): Promise<string> {
  const repository = { ...issueOpened.repository, owner: { id: account, login: `a${account}` } };
  const body = JSON.stringify({ ...issueOpened, repository, installation: { id: account } });
  const response = await deliver(hub.url, { body });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
}

interface Subscriber {
  /** The URIs of the received notifications, in order. */
  uris: string[];
  onUpdate: (uri: string) => void;
  /** The server's capability `resources`. */
  resources: unknown;
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
}

const mcpOf = ({ url }: HubProcess) => new URL(`${url}/mcp`);
const withToken = (token: string) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});

type Connect = (hub: HubProcess, token: string) => Promise<Subscriber>;

/** Creates a subscriber from a client of any SDK or protocol version. */
function createSubscriber(
  client: Client | Sdk1Client,
  subscriptions: Pick<Subscriber, "subscribe" | "unsubscribe">,
): Subscriber & { handleUpdate(notification: { params: { uri: string } }): void } {
  onTestFinished(() => client.close());
  return {
    uris: [],
    onUpdate() {},
    handleUpdate({ params }) {
      this.uris.push(params.uri);
      this.onUpdate(params.uri);
    },
    resources: client.getServerCapabilities()?.resources,
    ...subscriptions,
    call: (name, args) => client.callTool({ name, arguments: args }),
  };
}

async function connectSdk2(
  hub: HubProcess,
  token: string,
  options: ConstructorParameters<typeof Client>[1],
): Promise<Client> {
  const client = new Client({ name: "story", version: "1" }, options);
  await client.connect(new StreamableHTTPClientTransport(mcpOf(hub), withToken(token)));
  return client;
}

/** Connects a client that subscribes with `subscriptions/listen`, of protocol version 2026-07-28. */
const connectWithListen =
  (mode: "auto" | { pin: string }): Connect =>
  async (hub, token) => {
    const client = await connectSdk2(hub, token, { versionNegotiation: { mode } });
    const subscriptions = new Map<string, Awaited<ReturnType<Client["listen"]>>>();
    const subscriber = createSubscriber(client, {
      async subscribe(uri) {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [uri] });
        subscriptions.set(uri, subscription);
      },
      async unsubscribe(uri) {
        await subscriptions.get(uri)?.close();
      },
    });
    client.setNotificationHandler("notifications/resources/updated", (notification) =>
      subscriber.handleUpdate(notification),
    );
    return subscriber;
  };

/** Creates a subscriber that uses `resources/subscribe` in a session. */
const createSessionSubscriber = (client: Client | Sdk1Client) =>
  createSubscriber(client, {
    subscribe: async (uri) => void (await client.subscribeResource({ uri })),
    unsubscribe: async (uri) => void (await client.unsubscribeResource({ uri })),
  });

const connectWithVersion =
  (version: string): Connect =>
  async (hub, token) => {
    const client = await connectSdk2(hub, token, { supportedProtocolVersions: [version] });
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const subscriber = createSessionSubscriber(client);
    client.setNotificationHandler("notifications/resources/updated", (notification) =>
      subscriber.handleUpdate(notification),
    );
    return subscriber;
  };

const connectWithSdk1: Connect = async (hub, token) => {
  const client = new Sdk1Client({ name: "story", version: "1" });
  await client.connect(new Sdk1Transport(mcpOf(hub), withToken(token)) as never);
  const subscriber = createSessionSubscriber(client);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (notification) =>
    subscriber.handleUpdate(notification),
  );
  return subscriber;
};

const clients: [string, Connect][] = [
  ["SDK 2.x, negotiated version", connectWithListen("auto")],
  ["SDK 2.x, 2026-07-28", connectWithListen({ pin: "2026-07-28" })],
  ["SDK 2.x, 2025-11-25", connectWithVersion("2025-11-25")],
  ["SDK 2.x, 2025-06-18", connectWithVersion("2025-06-18")],
  ["SDK 2.x, 2025-03-26", connectWithVersion("2025-03-26")],
  ["SDK 1.x", connectWithSdk1],
];
const countOf = (uris: readonly string[], wanted: string) =>
  uris.filter((uri) => uri === wanted).length;

/** Creates a client that sends requests without an SDK. */
function createRawClient(
  hub: HubProcess,
  token: string,
  extraHeaders: Record<string, string> = {},
) {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...extraHeaders,
  };
  const post = (session: string | undefined, message: object) =>
    fetch(mcpOf(hub), {
      method: "POST",
      headers: { ...headers, ...(session ? { "mcp-session-id": session } : {}) },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    });
  const request = async (session: string | undefined, method: string, params: object = {}) => {
    const response = await post(session, { id: 1, method, params });
    const text = await response.text();
    const json = text ? JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) : undefined;
    return { status: response.status, session: response.headers.get("mcp-session-id"), json };
  };
  const initialize = async (): Promise<string> => {
    const { status, session } = await request(undefined, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "story", version: "1" },
    });
    expect(status).toBe(200);
    return session as string;
  };
  const openStream = (session: string) =>
    openSse(`${hub.url}/mcp`, { ...headers, "mcp-session-id": session });
  const endSession = async (session: string) =>
    (
      await fetch(mcpOf(hub), {
        method: "DELETE",
        headers: { ...headers, "mcp-session-id": session },
      })
    ).status;
  return { post, request, initialize, openStream, endSession };
}

describe.each(hosts)("on %s", (host) => {
  useHub(host);

  describe.each(clients)("a client (%s)", (_, connect) => {
    it("is notified of new and changed events until it unsubscribes", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const client = await connect(hub, (await createToken(account)).token);
      expect(client.resources).toEqual({ subscribe: true });
      const { uris } = client;
      await client.subscribe(INBOX);
      const id = await send(hub, account);
      await expect.poll(() => uris).toEqual([INBOX]);

      await client.subscribe(uriOf(id));
      await client.call("claim_events", { limit: 1 });
      await expect.poll(() => [...uris].sort()).toEqual([uriOf(id), INBOX, INBOX]);
      await client.call("release_event", { event_id: id });
      await expect.poll(() => countOf(uris, uriOf(id))).toBe(2);
      await expect.poll(() => countOf(uris, INBOX)).toBe(3);

      await client.unsubscribe(INBOX);
      await client.call("mark_processed", { event_id: id });
      await expect.poll(() => countOf(uris, uriOf(id))).toBe(3);
      expect(countOf(uris, INBOX)).toBe(3);
    });

    it("is not notified of other tenants' events", async () => {
      const { hub, createToken } = fixture;
      const [account, otherAccount] = [newAccount(), newAccount()];
      const [adasEvent, bobsEvent] = [await send(hub, account), await send(hub, otherAccount)];
      const ada = await connect(hub, (await createToken(account)).token);
      const bob = await connect(hub, (await createToken(otherAccount)).token);
      for (const client of [ada, bob]) await client.subscribe(INBOX);
      await bob.subscribe(uriOf(bobsEvent));
      // `resources/subscribe` rejects the subscription; `subscriptions/listen` sends nothing.
      await bob.subscribe(uriOf(adasEvent)).catch((error: Error) => {
        expect(error.message).toMatch(/There is no resource/);
      });
      await ada.call("mark_processed", { event_id: adasEvent });
      await expect.poll(() => ada.uris).toEqual([INBOX]);
      await bob.call("mark_processed", { event_id: bobsEvent });
      await expect.poll(() => [...bob.uris].sort()).toEqual([uriOf(bobsEvent), INBOX]);
      expect(ada.uris).toEqual([INBOX]);
    });

    it("is notified of a burst at most once per second, and once after its end", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const client = await connect(hub, (await createToken(account)).token);
      let pending = 0;
      client.onUpdate = async () => {
        const { structuredContent } = (await client.call("get_pending_status", {})) as {
          structuredContent: { pending_count: number };
        };
        pending = Math.max(pending, structuredContent.pending_count);
      };
      await client.subscribe(INBOX);
      const started = Date.now();
      await Promise.all(Array.from({ length: 50 }, () => send(hub, account)));
      await expect.poll(() => pending).toBe(50);
      // The limit grows with the duration, so that the test also passes on a slow machine.
      const seconds = Math.ceil((Date.now() - started) / 1000);
      expect(client.uris.length).toBeLessThanOrEqual(seconds + 1);
    });
  });

  it("a client that negotiates the protocol chooses 2026-07-28", async () => {
    const { hub, createToken } = fixture;
    const account = newAccount();
    const { token: bearer } = await createToken(account);
    const client = await connectSdk2(hub, bearer, { versionNegotiation: { mode: "auto" } });
    onTestFinished(() => client.close());
    expect(client.getProtocolEra()).toBe("modern");
  });

  describe("a session", () => {
    it("belongs to the token that opened it: another token gets 404", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const ada = createRawClient(hub, (await createToken(account)).token);
      const session = await ada.initialize();
      const { token: sameTenant } = await createToken(account);
      const { token: allTenants } = await createToken("*", "--scope", "admin");
      for (const other of [
        createRawClient(hub, sameTenant),
        createRawClient(hub, allTenants, { "x-signalbox-tenant": `${account}` }),
      ]) {
        expect(await other.request(session, "tools/list")).toMatchObject({
          status: 404,
          json: { error: { message: "Session not found" } },
        });
        expect((await other.openStream(session)).response.status).toBe(404);
        expect(await other.endSession(session)).toBe(404);
      }
      expect((await ada.request(session, "tools/list")).status).toBe(200);
      expect((await ada.request("no-such-session", "tools/list")).status).toBe(404);
    });

    it("serves one tenant's inbox, even if the token is valid for several tenants", async () => {
      const { hub, createToken } = fixture;
      const [account, otherAccount] = [newAccount(), newAccount()];
      await send(hub, otherAccount);
      const { token: bearer } = await createToken("*", "--scope", "admin");
      const session = await createRawClient(hub, bearer, {
        "x-signalbox-tenant": `${account}`,
      }).initialize();
      const otherTenant = createRawClient(hub, bearer, { "x-signalbox-tenant": `${otherAccount}` });
      expect((await otherTenant.request(session, "tools/list")).status).toBe(404);
      expect((await otherTenant.openStream(session)).response.status).toBe(404);
    });

    it.each([
      ["tools/call", { name: "wait_for_event", arguments: { timeout_s: 300 } }],
      ["events/stream", { name: "github.issues", cursor: null }],
    ])("ends the response to %s when the request is cancelled", async (method, params) => {
      const { hub, createToken } = fixture;
      const { post, initialize, request } = createRawClient(
        hub,
        (await createToken(newAccount())).token,
      );
      const session = await initialize();
      const responses = await Promise.all(
        [1, 2, 3].map((id) => post(session, { id, method, params })),
      );
      for (const requestId of [1, 2, 3]) {
        const cancelled = { method: "notifications/cancelled", params: { requestId } };
        expect((await post(session, cancelled)).status).toBe(202);
      }
      for (const response of responses)
        expect(await response.text()).not.toMatch(/"(result|error)":/);
      expect((await request(session, "tools/list")).status).toBe(200);
    });

    it("ends on DELETE, together with its stream", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const { request, initialize, openStream, endSession } = createRawClient(
        hub,
        (await createToken(account)).token,
      );
      const session = await initialize();
      const opened = await openStream(session);
      expect(opened.response.status).toBe(200);
      expect(await endSession(session)).toBe(200);
      await opened.ended;
      expect((await request(session, "tools/list")).status).toBe(404);
      expect((await openStream(session)).response.status).toBe(404);
    });

    it("buffers notifications until its stream is open, and ends that stream if another one is opened", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const { request, initialize, openStream } = createRawClient(
        hub,
        (await createToken(account)).token,
      );
      const session = await initialize();
      await request(session, "resources/subscribe", { uri: INBOX });
      await send(hub, account);
      const first = await openStream(session);
      await expect.poll(() => first.messages[0]?.data).toMatchObject({ params: { uri: INBOX } });
      const second = await openStream(session);
      await first.ended;
      await send(hub, account);
      await expect.poll(() => second.messages[0]?.data).toMatchObject({ params: { uri: INBOX } });
      second.close();
    });

    it("is evicted if its token exceeds the session limit, and no other session was idle for longer", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const { request, initialize, openStream } = createRawClient(
        hub,
        (await createToken(account)).token,
      );
      const otherClient = createRawClient(hub, (await createToken(account)).token);
      const sessionOfOther = await otherClient.initialize();
      const streamingSession = await initialize();
      const opened = await openStream(streamingSession);
      const usedSession = await initialize();
      const idleSession = await initialize();
      expect((await request(usedSession, "tools/list")).status).toBe(200);
      // Together with the three sessions above, these are 65. The limit is 64.
      for (let count = 0; count < 62; count += 1) await initialize();
      expect((await request(idleSession, "tools/list")).status).toBe(404);
      for (const session of [streamingSession, usedSession])
        expect((await request(session, "tools/list")).status).toBe(200);
      expect((await otherClient.request(sessionOfOther, "tools/list")).status).toBe(200);
      opened.close();
    });

    it("is required for `resources/subscribe`, but not for `tools/list`", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const { request, initialize } = createRawClient(hub, (await createToken(account)).token);
      for (const prepare of [() => {}, initialize]) {
        await prepare();
        const { status, session, json } = await request(undefined, "tools/list");
        expect({ status, session }).toEqual({ status: 200, session: null });
        expect(json.result.tools.length).toBeGreaterThan(5);
      }
      expect(
        (await request(undefined, "resources/subscribe", { uri: INBOX })).json.error.code,
      ).toBe(-32601);
    });

    it("rejects subscriptions to unknown resources", async () => {
      const { hub, createToken } = fixture;
      const account = newAccount();
      const { request, initialize } = createRawClient(hub, (await createToken(account)).token);
      const session = await initialize();
      for (const uri of ["signalbox://else", uriOf("x"), uriOf(crypto.randomUUID())])
        expect((await request(session, "resources/subscribe", { uri })).json.error).toMatchObject({
          message: `There is no resource ${uri}.`,
        });
    });

    it("ends with a restart: the client gets 404 and opens a new session", async () => {
      const data = tempFolder();
      const { hub, createToken } = await startForTest(host, data);
      const { token: bearer } = await createToken(newAccount());
      const session = await createRawClient(hub, bearer).initialize();
      await hub.stop();
      const client = createRawClient((await startForTest(host, data)).hub, bearer);
      expect((await client.request(session, "tools/list")).status).toBe(404);
      const newSession = await client.initialize();
      expect((await client.request(newSession, "tools/list")).status).toBe(200);
    });
  });

  it("streams of both protocol versions end after their token is revoked", async () => {
    const { hub, createToken, revokeToken } = fixture;
    const account = newAccount();
    const { id, token: bearer } = await createToken(account);
    const { initialize, openStream } = createRawClient(hub, bearer);
    const sessionStream = await openStream(await initialize());
    const client = await connectSdk2(hub, bearer, {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    });
    onTestFinished(() => client.close());
    const subscription = await client.listen({ resourceSubscriptions: [INBOX] });
    await revokeToken(id);
    await sessionStream.ended;
    expect(await subscription.closed).toBe("graceful");
    expect((await openStream("any")).response.status).toBe(401);
  });

  it("streams of both protocol versions end when the hub stops", async ({ skip }) => {
    skip(host === "workerd", "a Worker is not notified before it stops");
    const { hub, createToken } = await startForTest(host);
    const account = newAccount();
    const { initialize, openStream } = createRawClient(hub, (await createToken(account)).token);
    const opened = await openStream(await initialize());
    const { token: bearer } = await createToken(account);
    const client = await connectSdk2(hub, bearer, {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    });
    onTestFinished(() => client.close());
    const subscription = await client.listen({ resourceSubscriptions: [INBOX] });
    expect(await hub.stop()).toBe(0);
    await opened.ended;
    expect(await subscription.closed).toBe("graceful");
  });

  it("the hub rejects `subscriptions/listen` above the limit of a token, and with too many resources", async () => {
    const { hub, createToken } = fixture;
    const account = newAccount();
    const { token: bearer } = await createToken(account);
    const headers = {
      authorization: `Bearer ${bearer}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    };
    const listen = (uris: string[]) =>
      openSse(`${hub.url}/mcp`, headers, {
        method: "POST",
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "subscriptions/listen",
          params: {
            notifications: { resourceSubscriptions: uris },
            _meta: {
              "io.modelcontextprotocol/protocolVersion": "2026-07-28",
              "io.modelcontextprotocol/clientInfo": { name: "story", version: "1" },
              "io.modelcontextprotocol/clientCapabilities": {},
            },
          },
        }),
      });
    const opened = await Promise.all(Array.from({ length: 70 }, () => listen([INBOX])));
    onTestFinished(() => {
      for (const { close } of opened) close();
    });
    const contentTypes = opened.map(({ response }) => response.headers.get("content-type"));
    expect(contentTypes.filter((type) => type === "text/event-stream")).toHaveLength(64);
    const tooLong = await listen(Array.from({ length: 5_000 }, () => uriOf(crypto.randomUUID())));
    expect(tooLong.response.status).toBe(413);
    for (const { close } of opened) close();
    await expect
      .poll(async () => {
        const reopened = await listen([INBOX]);
        const type = reopened.response.headers.get("content-type");
        reopened.close();
        return type;
      })
      .toBe("text/event-stream");
  });
});

it("hubs on the same PostgreSQL notify the clients of all replicas", async () => {
  const env = { DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")) };
  const { hub, createToken } = await startForTest("Node", tempFolder(), env);
  const account = newAccount();
  const { token: bearer } = await createToken(account);
  const [ada, bob] = [
    await connectWithListen("auto")(hub, bearer),
    await connectWithSdk1(hub, bearer),
  ];
  for (const client of [ada, bob]) await client.subscribe(INBOX);
  const { hub: otherReplica } = await startForTest("Node", tempFolder(), env);
  const id = await send(otherReplica, account);
  for (const { uris } of [ada, bob]) await expect.poll(() => countOf(uris, INBOX)).toBe(1);
  for (const client of [ada, bob]) await client.subscribe(uriOf(id));
  const client = await connectWithListen("auto")(otherReplica, bearer);
  await client.call("mark_processed", { event_id: id });
  for (const { uris } of [ada, bob]) await expect.poll(() => countOf(uris, uriOf(id))).toBe(1);
});
