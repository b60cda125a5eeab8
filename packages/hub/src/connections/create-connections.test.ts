/** Calls of real MCP servers on the loopback address. */
import { decodeJwt, decodeProtectedHeader } from "jose";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { listen, serveRaw, serveSdk1, serveSdk2 } from "../../../../test/support/mcp-servers.ts";
import { WAIT } from "../../../../test/support/timeouts.ts";
import { createGuardedWebFetch } from "../hosts/node/guarded-web-fetch.ts";
import { systemTimers } from "../hosts/node/system-timers.ts";
import { createSeal } from "../lib/seal.ts";
import type { Timers } from "../lib/timers.ts";
import type { Connection } from "../store/connection-store.ts";
import type { ConnectionError } from "./connection-error.ts";
import type { CallOptions } from "./connections.ts";
import { createConnections } from "./create-connections.ts";
import { type Credentials, sealCredentials, unsealCredentials } from "./credentials.ts";
import { createIdentity } from "./identity.ts";
import { openClient } from "./open-client.ts";

const seal = createSeal(new Uint8Array(32));

function openConnections({ timers = systemTimers }: { timers?: Timers } = {}) {
  const fetch = createGuardedWebFetch({ allowPrivate: ["127.0.0.1"], allowHttp: true });
  const identity = createIdentity({
    sealKey: new Uint8Array(32),
    issuer: () => "https://hub.test",
    now: Date.now,
  });
  const listChanges: string[] = [];
  let opened = 0;
  const connections = createConnections({
    timers,
    random: () => 0.5,
    async open(connection, signal) {
      opened += 1;
      return openClient({
        connection,
        credentials: await unsealCredentials(connection.sealed, seal),
        fetch,
        openCommand: undefined,
        identity,
        version: "1.2.3",
        timers,
        random: () => 0.5,
        signal,
        onListChanged: () => listChanges.push(connection.id),
      });
    },
  });
  onTestFinished(() => connections.close());
  return { ...connections, listChanges, opened: () => opened };
}

let created = 0;
async function connect(url: string, credentials: Credentials = {}): Promise<Connection> {
  created += 1;
  return {
    id: `server-${created}`,
    tenant: "local",
    name: "Server",
    target: { url },
    ...(await sealCredentials(credentials, seal)),
    revision: 1,
    status: "unknown",
    error: null,
    checked_at: null,
    attempt: 0,
    tool_count: 0,
    trigger_count: 0,
    next_at: 0,
    deleted: false,
    created_at: 0,
    updated_at: 0,
  };
}

const limits = (options: Partial<CallOptions> = {}): CallOptions => ({
  signal: new AbortController().signal,
  timeoutMs: 30_000,
  ...options,
});

async function failure(work: Promise<unknown>): Promise<ConnectionError> {
  const [outcome] = await Promise.allSettled([work]);
  if (outcome?.status === "rejected") return outcome.reason;
  throw new Error(`the call did not fail: ${JSON.stringify(outcome)}`);
}

const echo = { echo: (given: object) => given };
const call = { tool: "echo", arguments: { a: 1 } };
const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

describe.each([
  ["version 2 of the SDK", () => serveSdk2(echo)],
  ["version 1 of the SDK, with sessions", () => serveSdk1(echo)],
  [
    "the published package of triggers",
    () =>
      serveRaw(({ method, params }) =>
        method === "tools/list"
          ? { tools: [tool("echo")] }
          : {
              content: [{ type: "text", text: JSON.stringify(params.arguments) }],
              structuredContent: params.arguments,
            },
      ),
  ],
])("a server of %s", (_, serve) => {
  it("is called, lists its tools, and its client is reused", async () => {
    const { url, requests } = await serve();
    const connections = openConnections();
    const connection = await connect(url);
    const answer = await connections.callTool(connection, call, limits());
    expect(answer).toEqual({
      isError: false,
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
    });
    const offers = await connections.loadOffers(connection, limits());
    expect(offers).toMatchObject({
      server: { name: expect.any(String), version: expect.any(String) },
      perSubscription: false,
      tools: [{ name: "echo", description: "", inputSchema: { type: "object" } }],
      triggers: [],
    });
    const before = requests.length;
    await connections.callTool(connection, call, limits());
    expect([requests.length - before, connections.opened()]).toEqual([1, 1]);
  });
});
