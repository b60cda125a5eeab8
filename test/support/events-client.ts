/** Starts a hub process, and connects clients of the MCP Events draft with two protocol versions. */
import { randomUUID } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Sdk1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Sdk1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished } from "vitest";
import { createTokenByApi } from "./create-token.ts";
import { deliver, issueOpened, SECRET } from "./deliver.ts";
import { commandSettings, type Host, startOn } from "./hosts.ts";
import { type HubProcess, runCli } from "./hub-process.ts";
import { tempFolder } from "./temp-folder.ts";

export const ADMIN = "the-admin-of-this-story";

export interface Fixture {
  hub: HubProcess;
  /** Kills the hub, and starts it again on the same data. */
  restart(): Promise<void>;
  /** Starts another hub on the same data. */
  replica(): Promise<HubProcess>;
  /** Creates a token with the options `--scope` and `--tenant`. */
  token(...args: string[]): Promise<{ id: string; token: string }>;
  revoke(id: string): Promise<void>;
}

export async function startFixture(
  host: Host,
  extraEnv: Record<string, string> = {},
): Promise<Fixture> {
  const data = tempFolder();
  const env = {
    GITHUB_WEBHOOK_SECRET: SECRET,
    SIGNALBOX_TOKEN: ADMIN,
    SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    ...extraEnv,
  };
  const start = async () => {
    const started = await startOn(host, { data, env });
    onTestFinished(async () => void (await started.stop()));
    return started;
  };
  const cliEnv = () => ({
    ...env,
    ...commandSettings(host, fixture.hub, { data, token: ADMIN }),
  });
  const fixture: Fixture = {
    hub: await start(),
    replica: start,
    async restart() {
      await fixture.hub.stop("SIGKILL");
      fixture.hub = await start();
    },
    token: (...args) => createTokenByApi(fixture.hub.url, ADMIN, ...args),
    async revoke(id) {
      await runCli(["token", "revoke", id], { env: cliEnv() });
    },
  };
  return fixture;
}

interface Notification {
  method: string;
  params: Record<string, unknown> & { _meta: Record<string, unknown> };
}

export interface EventsClient {
  notifications: Notification[];
  request(
    method: string,
    params: object,
    options?: { signal: AbortSignal },
  ): Promise<Record<string, unknown>>;
}

/** A schema that accepts every result. */
const anyResult = {
  "~standard": {
    version: 1 as const,
    vendor: "story",
    types: undefined as unknown as { input: unknown; output: Record<string, unknown> },
    validate: (value: unknown) => ({ value: value as Record<string, unknown> }),
  },
};
const withToken = (token: string) => ({
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});
/** `events/stream` is a request that lasts until one side ends it, so the default timeout is too short. */
const LONG_TIMEOUT = { timeout: 60 * 60_000 };

export async function connectSdk2(
  { url }: HubProcess,
  token = ADMIN,
  query = "",
): Promise<EventsClient> {
  const client = new Client(
    { name: "story", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  const transport = new StreamableHTTPClientTransport(
    new URL(`${url}/mcp${query}`),
    withToken(token),
  );
  await client.connect(transport);
  expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  return recordNotifications(client, (method, params, options) =>
    client.request({ method, params } as never, anyResult, { ...LONG_TIMEOUT, ...options }),
  );
}

async function connectSdk1({ url }: HubProcess, token = ADMIN): Promise<EventsClient> {
  const client = new Sdk1Client({ name: "story", version: "1" });
  const transport = new Sdk1Transport(new URL(`${url}/mcp`), withToken(token));
  await client.connect(transport as never);
  return recordNotifications(client, (method, params, options) =>
    client.request({ method, params } as never, ResultSchema, { ...LONG_TIMEOUT, ...options }),
  );
}

function recordNotifications(
  client: Pick<Client, "close"> & { fallbackNotificationHandler?: unknown },
  request: EventsClient["request"],
): EventsClient {
  const notifications: Notification[] = [];
  client.fallbackNotificationHandler = async (notification: Notification) =>
    void notifications.push(notification);
  onTestFinished(() => client.close());
  return { notifications, request };
}

export const clients = [
  ["a 2026-07-28 client", connectSdk2],
  ["a 2025-11-25 client", connectSdk1],
] as const;

/** Sends a GitHub webhook with changes to the body, and returns its delivery id. */
export const send = async (
  { hub }: Pick<Fixture, "hub">,
  changes: Record<string, unknown> = {},
  { id = randomUUID(), type = "issues" } = {},
): Promise<string> => {
  const response = await deliver(hub.url, {
    id,
    type,
    body: JSON.stringify({ ...issueOpened, ...changes }),
  });
  expect(response.status).toBe(202);
  return id;
};
export const namesOf = (result: Record<string, unknown>) =>
  (result.events as { name: string }[]).map(({ name }) => name);
export const idsOf = (result: Record<string, unknown>) =>
  (result.events as { eventId: string }[]).map(({ eventId }) => eventId);

/** Returns the code, message and data of the JSON-RPC error with which a request fails. */
export const errorOf = async (request: Promise<unknown>) => {
  const error = (await request.then(
    () => undefined,
    (reason: unknown) => reason,
  )) as { code: number; message: string; data: unknown } | undefined;
  return { code: error?.code, message: error?.message ?? "", data: error?.data };
};
