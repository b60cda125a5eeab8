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

const ADMIN = "sbx_of_the_story_of_subscriptions";
const INBOX = "signalbox://inbox";
const uriOf = (id: string) => `signalbox://events/${id}`;

interface Fixture {
  hub: HubProcess;
  token(tenant: number | "*", ...args: string[]): Promise<{ id: string; token: string }>;
  revoke(id: string): Promise<unknown>;
}

async function startFixture(
  host: Host,
  data: string,
  more: Record<string, string> = {},
): Promise<Fixture> {
  const env = { SIGNALBOX_TENANCY: "github", SIGNALBOX_TOKEN: ADMIN, ...more };
  const hub = await startOn(host, { data, env: { GITHUB_WEBHOOK_SECRET: SECRET, ...env } });
  const settings = { ...env, ...commandSettings(host, hub, { data, token: ADMIN }) };
  return {
    hub,
    token: (tenant, ...args) => createTokenByApi(hub.url, ADMIN, "--tenant", `${tenant}`, ...args),
    revoke: (id) => runCli(["token", "revoke", id], { env: settings }),
  };
}

/** A separate hub, which is stopped after the test. */
async function startForTest(
  host: Host,
  data = tempFolder(),
  more: Record<string, string> = {},
): Promise<Fixture> {
  const own = await startFixture(host, data, more);
  onTestFinished(async () => void (await own.hub.stop()));
  return own;
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
let accounts = 100;
const newAccount = () => ++accounts;

/** Sends an event of this account, and returns its id. */
async function send(hub: HubProcess, account: number): Promise<string> {
  const repository = { ...issueOpened.repository, owner: { id: account, login: `a${account}` } };
  const body = JSON.stringify({ ...issueOpened, repository, installation: { id: account } });
  const response = await deliver(hub.url, { body });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
}

interface Subscriber {
  /** The URIs of its notifications, in order. */
  uris: string[];
  onUpdate: (uri: string) => void;
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

/** The parts that the clients of all SDK and protocol versions have in common. */
function createSubscriber(
  client: Client | Sdk1Client,
  subscriptions: Pick<Subscriber, "subscribe" | "unsubscribe">,
): Subscriber & { updated(notification: { params: { uri: string } }): void } {
  onTestFinished(() => client.close());
  return {
    uris: [],
    onUpdate() {},
    updated({ params }) {
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

/** Subscribes with `subscriptions/listen`, of protocol version 2026-07-28. */
const withListen =
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
      subscriber.updated(notification),
    );
    return subscriber;
  };

/** Subscribes with `resources/subscribe`, in a session. */
const inSession = (client: Client | Sdk1Client) =>
  createSubscriber(client, {
    subscribe: async (uri) => void (await client.subscribeResource({ uri })),
    unsubscribe: async (uri) => void (await client.unsubscribeResource({ uri })),
  });

const withVersion =
  (version: string): Connect =>
  async (hub, token) => {
    const client = await connectSdk2(hub, token, { supportedProtocolVersions: [version] });
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const subscriber = inSession(client);
    client.setNotificationHandler("notifications/resources/updated", (notification) =>
      subscriber.updated(notification),
    );
    return subscriber;
  };

const withSdk1: Connect = async (hub, token) => {
  const client = new Sdk1Client({ name: "story", version: "1" });
  await client.connect(new Sdk1Transport(mcpOf(hub), withToken(token)) as never);
  const subscriber = inSession(client);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (notification) =>
    subscriber.updated(notification),
  );
  return subscriber;
};

const clients: [string, Connect][] = [
  ["SDK 2.x, negotiated version", withListen("auto")],
  ["SDK 2.x, 2026-07-28", withListen({ pin: "2026-07-28" })],
  ["SDK 2.x, 2025-11-25", withVersion("2025-11-25")],
  ["SDK 2.x, 2025-06-18", withVersion("2025-06-18")],
  ["SDK 2.x, 2025-03-26", withVersion("2025-03-26")],
  ["SDK 1.x", withSdk1],
];
const countOf = (uris: readonly string[], wanted: string) =>
  uris.filter((uri) => uri === wanted).length;

/** Sends requests without an SDK. */
function createRawClient(hub: HubProcess, token: string, more: Record<string, string> = {}) {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...more,
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
  const stream = (session: string) =>
    openSse(`${hub.url}/mcp`, { ...headers, "mcp-session-id": session });
  const end = async (session: string) =>
    (
      await fetch(mcpOf(hub), {
        method: "DELETE",
        headers: { ...headers, "mcp-session-id": session },
      })
    ).status;
  return { post, request, initialize, stream, end };
}

describe.each(hosts)("on %s", (host) => {
  useHub(host);

  describe.each(clients)("a client (%s)", (_, connect) => {
    it("is notified of new and changed events until it unsubscribes", async () => {
      const { hub, token } = fixture;
      const account = newAccount();
      const client = await connect(hub, (await token(account)).token);
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
      const { hub, token } = fixture;
      const [account, other] = [newAccount(), newAccount()];
      const [adasEvent, bobsEvent] = [await send(hub, account), await send(hub, other)];
      const ada = await connect(hub, (await token(account)).token);
      const bob = await connect(hub, (await token(other)).token);
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
      const { hub, token } = fixture;
      const account = newAccount();
      const client = await connect(hub, (await token(account)).token);
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
      // The bound grows with the duration, so a slow machine does not matter.
      const seconds = Math.ceil((Date.now() - started) / 1000);
      expect(client.uris.length).toBeLessThanOrEqual(seconds + 1);
    });
  });

  it("a client that negotiates the protocol chooses 2026-07-28", async () => {
    const { hub, token } = fixture;
    const account = newAccount();
    const { token: bearer } = await token(account);
    const client = await connectSdk2(hub, bearer, { versionNegotiation: { mode: "auto" } });
    onTestFinished(() => client.close());
    expect(client.getProtocolEra()).toBe("modern");
  });

  describe("a session", () => {
    it("belongs to the token that opened it: another token gets 404", async () => {
      const { hub, token } = fixture;
      const account = newAccount();
      const mine = await token(account);
      const ada = createRawClient(hub, mine.token);
      const session = await ada.initialize();
      const { token: sameTenant } = await token(account);
      const { token: allTenants } = await token("*", "--scope", "admin");
      for (const other of [
        createRawClient(hub, sameTenant),
        createRawClient(hub, allTenants, { "x-signalbox-tenant": `${account}` }),
      ]) {
        expect(await other.request(session, "tools/list")).toMatchObject({
          status: 404,
          json: { error: { message: "Session not found" } },
        });
        expect((await other.stream(session)).response.status).toBe(404);
        expect(await other.end(session)).toBe(404);
      }
      expect((await ada.request(session, "tools/list")).status).toBe(200);
      expect((await ada.request("no-such-session", "tools/list")).status).toBe(404);
    });

    it("serves one tenant's inbox, even if the token is valid for several tenants", async () => {
      const { hub, token } = fixture;
      const [account, other] = [newAccount(), newAccount()];
      await send(hub, other);
      const { token: bearer } = await token("*", "--scope", "admin");
      const session = await createRawClient(hub, bearer, {
        "x-signalbox-tenant": `${account}`,
      }).initialize();
      const otherTenant = createRawClient(hub, bearer, { "x-signalbox-tenant": `${other}` });
      expect((await otherTenant.request(session, "tools/list")).status).toBe(404);
      expect((await otherTenant.stream(session)).response.status).toBe(404);
    });

    it.each([
      ["tools/call", { name: "wait_for_event", arguments: { timeout_s: 300 } }],
      ["events/stream", { name: "github.issues", cursor: null }],
    ])("ends the response to %s when the request is cancelled", async (method, params) => {
      const { hub, token } = fixture;
      const { post, initialize, request } = createRawClient(hub, (await token(newAccount())).token);
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
      const { hub, token } = fixture;
      const account = newAccount();
      const { request, initialize, stream, end } = createRawClient(
        hub,
        (await token(account)).token,
      );
      const session = await initialize();
      const opened = await stream(session);
      expect(opened.response.status).toBe(200);
      expect(await end(session)).toBe(200);
      await opened.ended;
      expect((await request(session, "tools/list")).status).toBe(404);
      expect((await stream(session)).response.status).toBe(404);
    });

    it("buffers notifications until its stream is open, and ends that stream if another one is opened", async () => {
      const { hub, token } = fixture;
      const account = newAccount();
      const { request, initialize, stream } = createRawClient(hub, (await token(account)).token);
      const session = await initialize();
      await request(session, "resources/subscribe", { uri: INBOX });
      await send(hub, account);
      const first = await stream(session);
      await expect.poll(() => first.messages[0]?.data).toMatchObject({ params: { uri: INBOX } });
      const second = await stream(session);
      await first.ended;
      await send(hub, account);
      await expect.poll(() => second.messages[0]?.data).toMatchObject({ params: { uri: INBOX } });
      second.close();
    });

    it("is evicted at the session limit of its token if it was idle for the longest time", async () => {
      const { hub, token } = fixture;
      const account = newAccount();
      const { request, initialize, stream } = createRawClient(hub, (await token(account)).token);
      const other = createRawClient(hub, (await token(account)).token);
      const theirs = await other.initialize();
      const held = await initialize();
      const opened = await stream(held);
      const used = await initialize();
      const idle = await initialize();
      expect((await request(used, "tools/list")).status).toBe(200);
      for (let more = 0; more < 62; more += 1) await initialize();
      expect((await request(idle, "tools/list")).status).toBe(404);
      for (const session of [held, used])
        expect((await request(session, "tools/list")).status).toBe(200);
      expect((await other.request(theirs, "tools/list")).status).toBe(200);
      opened.close();
    });

    it("is required for subscriptions only", async () => {
      const { hub, token } = fixture;
      const account = newAccount();
      const { request, initialize } = createRawClient(hub, (await token(account)).token);
      for (const before of [() => {}, initialize]) {
        await before();
        const { status, session, json } = await request(undefined, "tools/list");
        expect({ status, session }).toEqual({ status: 200, session: null });
        expect(json.result.tools.length).toBeGreaterThan(5);
      }
      expect(
        (await request(undefined, "resources/subscribe", { uri: INBOX })).json.error.code,
      ).toBe(-32601);
    });

    it("rejects subscriptions to unknown resources", async () => {
      const { hub, token } = fixture;
      const account = newAccount();
      const { request, initialize } = createRawClient(hub, (await token(account)).token);
      const session = await initialize();
      for (const uri of ["signalbox://else", uriOf("x"), uriOf(crypto.randomUUID())])
        expect((await request(session, "resources/subscribe", { uri })).json.error).toMatchObject({
          message: `There is no resource ${uri}.`,
        });
    });

    it("ends with a restart: the client gets 404 and opens a new session", async () => {
      const data = tempFolder();
      const { hub, token } = await startForTest(host, data);
      const { token: bearer } = await token(newAccount());
      const session = await createRawClient(hub, bearer).initialize();
      await hub.stop();
      const again = createRawClient((await startForTest(host, data)).hub, bearer);
      expect((await again.request(session, "tools/list")).status).toBe(404);
      const next = await again.initialize();
      expect((await again.request(next, "tools/list")).status).toBe(200);
    });
  });

  it("streams of both protocol versions end after their token is revoked", async () => {
    const { hub, token, revoke } = fixture;
    const account = newAccount();
    const { id, token: bearer } = await token(account);
    const { initialize, stream } = createRawClient(hub, bearer);
    const old = await stream(await initialize());
    const client = await connectSdk2(hub, bearer, {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    });
    onTestFinished(() => client.close());
    const subscription = await client.listen({ resourceSubscriptions: [INBOX] });
    await revoke(id);
    await old.ended;
    expect(await subscription.closed).toBe("graceful");
    expect((await stream("any")).response.status).toBe(401);
  });

  it("streams of both protocol versions end when the hub stops", async ({ skip }) => {
    skip(host === "workerd", "a Worker is not notified before it stops");
    const { hub, token } = await startForTest(host);
    const account = newAccount();
    const { initialize, stream } = createRawClient(hub, (await token(account)).token);
    const opened = await stream(await initialize());
    const { token: bearer } = await token(account);
    const client = await connectSdk2(hub, bearer, {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    });
    onTestFinished(() => client.close());
    const subscription = await client.listen({ resourceSubscriptions: [INBOX] });
    expect(await hub.stop()).toBe(0);
    await opened.ended;
    expect(await subscription.closed).toBe("graceful");
  });

  it("rejects listeners above the limit of a token, and a list of resources that is too long", async () => {
    const { hub, token } = fixture;
    const account = newAccount();
    const { token: bearer } = await token(account);
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
    const types = opened.map(({ response }) => response.headers.get("content-type"));
    expect(types.filter((type) => type === "text/event-stream")).toHaveLength(64);
    const long = await listen(Array.from({ length: 5_000 }, () => uriOf(crypto.randomUUID())));
    expect(long.response.status).toBe(413);
    for (const { close } of opened) close();
    await expect
      .poll(async () => {
        const again = await listen([INBOX]);
        const type = again.response.headers.get("content-type");
        again.close();
        return type;
      })
      .toBe("text/event-stream");
  });
});

it("notifies clients of all replicas on PostgreSQL", async () => {
  const env = { DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")) };
  const { hub, token } = await startForTest("Node", tempFolder(), env);
  const account = newAccount();
  const { token: bearer } = await token(account);
  const [ada, bob] = [await withListen("auto")(hub, bearer), await withSdk1(hub, bearer)];
  for (const client of [ada, bob]) await client.subscribe(INBOX);
  const { hub: other } = await startForTest("Node", tempFolder(), env);
  const id = await send(other, account);
  for (const { uris } of [ada, bob]) await expect.poll(() => countOf(uris, INBOX)).toBe(1);
  for (const client of [ada, bob]) await client.subscribe(uriOf(id));
  const worker = await withListen("auto")(other, bearer);
  await worker.call("mark_processed", { event_id: id });
  for (const { uris } of [ada, bob]) await expect.poll(() => countOf(uris, uriOf(id))).toBe(1);
});
