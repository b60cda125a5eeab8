/** Notifications of changed resources, for 2025-era and 2026-07-28 clients, limited to their tenants. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { deliver, issueOpened, SECRET } from "../support/deliver.ts";
import { type HubProcess, runCli, startHubProcess } from "../support/hub-process.ts";
import { createDatabase } from "../support/postgres.ts";
import { openSse } from "../support/sse.ts";
import { tempFolder } from "../support/temp-folder.ts";

const INBOX = "signalbox://inbox";
const uriOf = (id: string) => `signalbox://events/${id}`;

interface Home {
  hub: HubProcess;
  token(tenant: number | "*", ...more: string[]): Promise<{ id: string; token: string }>;
  revoke(id: string): Promise<unknown>;
}

async function start(data: string, more: Record<string, string> = {}): Promise<Home> {
  const env = { SIGNALBOX_TENANCY: "github", SIGNALBOX_DATA: data, ...more };
  const hub = await startHubProcess({ data, env: { GITHUB_WEBHOOK_SECRET: SECRET, ...env } });
  return {
    hub,
    token: async (tenant, ...rest) =>
      JSON.parse(
        (
          await runCli(["token", "create", "x", "--json", "--tenant", `${tenant}`, ...rest], {
            env,
          })
        ).stdout,
      ),
    revoke: (id) => runCli(["token", "revoke", id], { env }),
  };
}

/** A separate hub for one test. */
async function startOwn(data = tempFolder(), more: Record<string, string> = {}): Promise<Home> {
  const home = await start(data, more);
  onTestFinished(async () => void (await home.hub.stop()));
  return home;
}

const folder = mkdtempSync(join(tmpdir(), "signalbox-subscriptions-"));
let home: Home;
beforeAll(async () => {
  home = await start(folder);
});
afterAll(async () => {
  await home.hub.stop();
  rmSync(folder, { recursive: true, force: true });
});
let accounts = 100;
const newAccount = () => ++accounts;

/** An event of the account with this id. */
async function send(hub: HubProcess, account: number): Promise<string> {
  const repository = { ...issueOpened.repository, owner: { id: account, login: `a${account}` } };
  const body = JSON.stringify({ ...issueOpened, repository, installation: { id: account } });
  const response = await deliver(hub.url, { body });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
}

interface Subscriber {
  /** The URIs of its notifications, in order. */
  heard: string[];
  onHeard: (uri: string) => void;
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

const later =
  (mode: "auto" | { pin: string }): Connect =>
  async (hub, token) => {
    const client = new Client({ name: "story", version: "1" }, { versionNegotiation: { mode } });
    const heard: string[] = [];
    const subscriptions = new Map<string, Awaited<ReturnType<Client["listen"]>>>();
    await client.connect(new StreamableHTTPClientTransport(mcpOf(hub), withToken(token)));
    onTestFinished(() => client.close());
    const subscriber: Subscriber = {
      heard,
      onHeard() {},
      resources: client.getServerCapabilities()?.resources,
      async subscribe(uri) {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [uri] });
        subscriptions.set(uri, subscription);
      },
      async unsubscribe(uri) {
        await subscriptions.get(uri)?.close();
      },
      call: (name, args) => client.callTool({ name, arguments: args }),
    };
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      heard.push(params.uri);
      subscriber.onHeard(params.uri);
    });
    return subscriber;
  };

const earlier =
  (version: string): Connect =>
  async (hub, token) => {
    const client = new Client(
      { name: "story", version: "1" },
      { supportedProtocolVersions: [version] },
    );
    const heard: string[] = [];
    const transport = new StreamableHTTPClientTransport(mcpOf(hub), withToken(token));
    await client.connect(transport);
    onTestFinished(() => client.close());
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const subscriber: Subscriber = {
      heard,
      onHeard() {},
      resources: client.getServerCapabilities()?.resources,
      subscribe: async (uri) => void (await client.subscribeResource({ uri })),
      unsubscribe: async (uri) => void (await client.unsubscribeResource({ uri })),
      call: (name, args) => client.callTool({ name, arguments: args }),
    };
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      heard.push(params.uri);
      subscriber.onHeard(params.uri);
    });
    return subscriber;
  };

const firstGeneration: Connect = async (hub, token) => {
  const client = new OldClient({ name: "story", version: "1" });
  const heard: string[] = [];
  await client.connect(new OldTransport(mcpOf(hub), withToken(token)) as never);
  onTestFinished(() => client.close());
  const subscriber: Subscriber = {
    heard,
    onHeard() {},
    resources: client.getServerCapabilities()?.resources,
    subscribe: async (uri) => void (await client.subscribeResource({ uri })),
    unsubscribe: async (uri) => void (await client.unsubscribeResource({ uri })),
    call: (name, args) => client.callTool({ name, arguments: args }),
  };
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    heard.push(params.uri);
    subscriber.onHeard(params.uri);
  });
  return subscriber;
};

const clients: [string, Connect][] = [
  ["2.x that finds out the era", later("auto")],
  ["2.x of 2026-07-28", later({ pin: "2026-07-28" })],
  ["2.x of 2025-11-25", earlier("2025-11-25")],
  ["2.x of 2025-06-18", earlier("2025-06-18")],
  ["2.x of 2025-03-26", earlier("2025-03-26")],
  ["1.x", firstGeneration],
];
const counted = (uris: readonly string[], wanted: string) =>
  uris.filter((uri) => uri === wanted).length;

describe.each(clients)("a client, %s,", (_, connect) => {
  it("is notified of new and changed events until it unsubscribes", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const client = await connect(hub, (await token(account)).token);
    expect(client.resources).toEqual({ subscribe: true });
    const { heard } = client;
    await client.subscribe(INBOX);
    const id = await send(hub, account);
    await expect.poll(() => heard).toEqual([INBOX]);

    await client.subscribe(uriOf(id));
    await client.call("claim_events", { limit: 1 });
    await expect.poll(() => [...heard].sort()).toEqual([uriOf(id), INBOX, INBOX]);
    await client.call("release_event", { event_id: id });
    await expect.poll(() => counted(heard, uriOf(id))).toBe(2);
    await expect.poll(() => counted(heard, INBOX)).toBe(3);

    await client.unsubscribe(INBOX);
    await client.call("mark_processed", { event_id: id });
    await expect.poll(() => counted(heard, uriOf(id))).toBe(3);
    expect(counted(heard, INBOX)).toBe(3);
  });

  it("is not notified of other tenants' events", async () => {
    const { hub, token } = home;
    const [account, other] = [newAccount(), newAccount()];
    const [theirs, own] = [await send(hub, account), await send(hub, other)];
    const ada = await connect(hub, (await token(account)).token);
    const bob = await connect(hub, (await token(other)).token);
    for (const client of [ada, bob]) await client.subscribe(INBOX);
    await bob.subscribe(uriOf(own));
    // A session can reject the subscription; `subscriptions/listen` cannot, and sends nothing.
    await bob.subscribe(uriOf(theirs)).catch((error: Error) => {
      expect(error.message).toMatch(/There is no resource/);
    });
    await ada.call("mark_processed", { event_id: theirs });
    await expect.poll(() => ada.heard).toEqual([INBOX]);
    await bob.call("mark_processed", { event_id: own });
    await expect.poll(() => [...bob.heard].sort()).toEqual([uriOf(own), INBOX]);
    expect(ada.heard).toEqual([INBOX]);
  });

  it("is notified of a burst a few times, and once after its end", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const client = await connect(hub, (await token(account)).token);
    let seen = 0;
    client.onHeard = async () => {
      const { structuredContent } = (await client.call("get_pending_status", {})) as {
        structuredContent: { pending_count: number };
      };
      seen = structuredContent.pending_count;
    };
    await client.subscribe(INBOX);
    await Promise.all(Array.from({ length: 50 }, () => send(hub, account)));
    await expect.poll(() => seen).toBe(50);
    expect(client.heard.length).toBeLessThan(25);
  });
});

it("a client that negotiates the protocol chooses 2026-07-28", async () => {
  const { hub, token } = home;
  const account = newAccount();
  const client = new Client(
    { name: "story", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  const { token: bearer } = await token(account);
  await client.connect(new StreamableHTTPClientTransport(mcpOf(hub), withToken(bearer)));
  onTestFinished(() => client.close());
  expect(client.getProtocolEra()).toBe("modern");
});

/** A raw request and its response. */
function speaker(hub: HubProcess, token: string, more: Record<string, string> = {}) {
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
  const ask = async (session: string | undefined, method: string, params: object = {}) => {
    const response = await post(session, { id: 1, method, params });
    const text = await response.text();
    const said = text ? JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) : undefined;
    return { status: response.status, session: response.headers.get("mcp-session-id"), said };
  };
  const initialize = async (): Promise<string> => {
    const { status, session } = await ask(undefined, "initialize", {
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
  return { post, ask, initialize, stream, end };
}

describe("a session", () => {
  it("belongs to the token that opened it: another token gets 404", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const mine = await token(account);
    const ada = speaker(hub, mine.token);
    const session = await ada.initialize();
    const { token: equal } = await token(account);
    const { token: everybodys } = await token("*", "--scope", "admin");
    for (const other of [
      speaker(hub, equal),
      speaker(hub, everybodys, { "x-signalbox-tenant": `${account}` }),
    ]) {
      expect(await other.ask(session, "tools/list")).toMatchObject({
        status: 404,
        said: { error: { message: "Session not found" } },
      });
      expect((await other.stream(session)).response.status).toBe(404);
      expect(await other.end(session)).toBe(404);
    }
    expect((await ada.ask(session, "tools/list")).status).toBe(200);
    expect((await ada.ask("no-such-session", "tools/list")).status).toBe(404);
  });

  it("serves one tenant's inbox, also if the token has several", async () => {
    const { hub, token } = home;
    const [account, other] = [newAccount(), newAccount()];
    await send(hub, other);
    const { token: bearer } = await token("*", "--scope", "admin");
    const session = await speaker(hub, bearer, { "x-signalbox-tenant": `${account}` }).initialize();
    const elsewhere = speaker(hub, bearer, { "x-signalbox-tenant": `${other}` });
    expect((await elsewhere.ask(session, "tools/list")).status).toBe(404);
    expect((await elsewhere.stream(session)).response.status).toBe(404);
  });

  it.each([
    ["tools/call", { name: "wait_for_event", arguments: { timeout_s: 300 } }],
    ["events/stream", { name: "github.issues", cursor: null }],
  ])("ends the response to %s when it is cancelled", async (method, params) => {
    const { hub, token } = home;
    const { post, initialize, ask } = speaker(hub, (await token(newAccount())).token);
    const session = await initialize();
    const answers = await Promise.all([1, 2, 3].map((id) => post(session, { id, method, params })));
    for (const requestId of [1, 2, 3]) {
      const cancelled = { method: "notifications/cancelled", params: { requestId } };
      expect((await post(session, cancelled)).status).toBe(202);
    }
    for (const answer of answers) expect(await answer.text()).not.toMatch(/"(result|error)":/);
    expect((await ask(session, "tools/list")).status).toBe(200);
  });

  it("ends with DELETE, and its stream with it", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const { ask, initialize, stream, end } = speaker(hub, (await token(account)).token);
    const session = await initialize();
    const opened = await stream(session);
    expect(opened.response.status).toBe(200);
    expect(await end(session)).toBe(200);
    await opened.ended;
    expect((await ask(session, "tools/list")).status).toBe(404);
    expect((await stream(session)).response.status).toBe(404);
  });

  it("keeps notifications until its stream is open; a second stream replaces the first", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const { ask, initialize, stream } = speaker(hub, (await token(account)).token);
    const session = await initialize();
    await ask(session, "resources/subscribe", { uri: INBOX });
    await send(hub, account);
    const first = await stream(session);
    await expect.poll(() => first.messages[0]?.data).toMatchObject({ params: { uri: INBOX } });
    const second = await stream(session);
    await first.ended;
    await send(hub, account);
    await expect.poll(() => second.messages[0]?.data).toMatchObject({ params: { uri: INBOX } });
    second.close();
  });

  it("is evicted at the limit of its token if it was idle for longest", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const { ask, initialize, stream } = speaker(hub, (await token(account)).token);
    const other = speaker(hub, (await token(account)).token);
    const theirs = await other.initialize();
    const held = await initialize();
    const opened = await stream(held);
    const used = await initialize();
    const idle = await initialize();
    expect((await ask(used, "tools/list")).status).toBe(200);
    for (let more = 0; more < 62; more += 1) await initialize();
    expect((await ask(idle, "tools/list")).status).toBe(404);
    for (const session of [held, used]) expect((await ask(session, "tools/list")).status).toBe(200);
    expect((await other.ask(theirs, "tools/list")).status).toBe(200);
    opened.close();
  });

  it("is required for subscriptions only", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const { ask, initialize } = speaker(hub, (await token(account)).token);
    for (const before of [() => {}, initialize]) {
      await before();
      const { status, session, said } = await ask(undefined, "tools/list");
      expect({ status, session }).toEqual({ status: 200, session: null });
      expect(said.result.tools.length).toBeGreaterThan(5);
    }
    expect((await ask(undefined, "resources/subscribe", { uri: INBOX })).said.error.code).toBe(
      -32601,
    );
  });

  it("rejects subscriptions to unknown resources", async () => {
    const { hub, token } = home;
    const account = newAccount();
    const { ask, initialize } = speaker(hub, (await token(account)).token);
    const session = await initialize();
    for (const uri of ["signalbox://else", uriOf("x"), uriOf(crypto.randomUUID())])
      expect((await ask(session, "resources/subscribe", { uri })).said.error).toMatchObject({
        message: `There is no resource ${uri}.`,
      });
  });

  it("ends with a restart: clients get 404 and open another", async () => {
    const data = tempFolder();
    const { hub, token } = await startOwn(data);
    const { token: bearer } = await token(newAccount());
    const session = await speaker(hub, bearer).initialize();
    await hub.stop();
    const again = speaker((await startOwn(data)).hub, bearer);
    expect((await again.ask(session, "tools/list")).status).toBe(404);
    const next = await again.initialize();
    expect((await again.ask(next, "tools/list")).status).toBe(200);
  });
});

it("streams of both protocols end within seconds after their token is revoked", async () => {
  const { hub, token, revoke } = home;
  const account = newAccount();
  const { id, token: bearer } = await token(account);
  const { initialize, stream } = speaker(hub, bearer);
  const old = await stream(await initialize());
  const client = new Client(
    { name: "story", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(mcpOf(hub), withToken(bearer)));
  onTestFinished(() => client.close());
  const subscription = await client.listen({ resourceSubscriptions: [INBOX] });
  await revoke(id);
  await old.ended;
  expect(await subscription.closed).toBe("graceful");
  expect((await stream("any")).response.status).toBe(401);
});

it("streams end when the hub stops, and do not delay it", async () => {
  const { hub, token } = await startOwn();
  const account = newAccount();
  const { initialize, stream } = speaker(hub, (await token(account)).token);
  const opened = await stream(await initialize());
  const { token: bearer } = await token(account);
  const client = new Client(
    { name: "story", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  await client.connect(new StreamableHTTPClientTransport(mcpOf(hub), withToken(bearer)));
  onTestFinished(() => client.close());
  const subscription = await client.listen({ resourceSubscriptions: [INBOX] });
  expect(await hub.stop()).toBe(0);
  await opened.ended;
  expect(await subscription.closed).toBe("graceful");
});

it("rejects too many listeners of one token, and too long a list of resources", async () => {
  const { hub, token } = home;
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

it("notifies clients of all replicas on PostgreSQL", async () => {
  const env = { DATABASE_URL: await createDatabase(inject("postgresUrl")) };
  const { hub, token } = await startOwn(tempFolder(), env);
  const account = newAccount();
  const { token: bearer } = await token(account);
  const [ada, bob] = [await later("auto")(hub, bearer), await firstGeneration(hub, bearer)];
  for (const client of [ada, bob]) await client.subscribe(INBOX);
  const { hub: other } = await startOwn(tempFolder(), env);
  const id = await send(other, account);
  for (const { heard } of [ada, bob]) await expect.poll(() => counted(heard, INBOX)).toBe(1);
  for (const client of [ada, bob]) await client.subscribe(uriOf(id));
  const worker = await later("auto")(other, bearer);
  await worker.call("mark_processed", { event_id: id });
  for (const { heard } of [ada, bob]) await expect.poll(() => counted(heard, uriOf(id))).toBe(1);
});
