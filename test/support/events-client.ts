/** Clients of the MCP Events draft for both protocol versions, and a hub process. */
import { randomUUID } from "node:crypto";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished } from "vitest";
import { deliver, issueOpened, SECRET } from "./deliver.ts";
import { type HubProcess, runCli, startHubProcess } from "./hub-process.ts";
import { tempFolder } from "./temp-folder.ts";

export const ADMIN = "the-admin-of-this-story";
/** Generous, because the machine may be busy. */
export const PATIENCE = { timeout: 60_000, interval: 20 };

export interface Setup {
  data: string;
  hub: HubProcess;
  restart(): Promise<void>;
  /** Starts another hub on the same data. */
  replica(): Promise<HubProcess>;
  token(...more: string[]): Promise<{ id: string; token: string }>;
  revoke(id: string): Promise<void>;
}

export async function setup(env: Record<string, string> = {}): Promise<Setup> {
  const data = tempFolder();
  const settings = {
    GITHUB_WEBHOOK_SECRET: SECRET,
    SIGNALBOX_TOKEN: ADMIN,
    SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
    ...env,
  };
  const start = async () => {
    const started = await startHubProcess({ data, env: settings });
    onTestFinished(async () => void (await started.stop()));
    return started;
  };
  const one: Setup = {
    data,
    hub: await start(),
    replica: start,
    async restart() {
      await one.hub.stop("SIGKILL");
      one.hub = await start();
    },
    async token(...more) {
      const args = ["token", "create", "x", "--json", "--data", data, ...more];
      return JSON.parse((await runCli(args, { env: settings })).stdout);
    },
    async revoke(id) {
      await runCli(["token", "revoke", id, "--data", data], { env: settings });
    },
  };
  return one;
}

interface Said {
  method: string;
  params: Record<string, unknown> & { _meta: Record<string, unknown> };
}

export interface Connected {
  heard: Said[];
  request(
    method: string,
    params: object,
    options?: { signal: AbortSignal },
  ): Promise<Record<string, unknown>>;
}

/** A schema that accepts every result. */
const anything = {
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
const forever = { timeout: 60 * 60_000 };

export async function later({ url }: HubProcess, token = ADMIN): Promise<Connected> {
  const client = new Client(
    { name: "story", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), withToken(token)));
  expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  return follow(client, (method, params, options) =>
    client.request({ method, params } as never, anything, { ...forever, ...options }),
  );
}

async function earlier({ url }: HubProcess, token = ADMIN): Promise<Connected> {
  const client = new OldClient({ name: "story", version: "1" });
  const transport = new OldTransport(new URL(`${url}/mcp`), withToken(token));
  await client.connect(transport as never);
  return follow(client, (method, params, options) =>
    client.request({ method, params } as never, ResultSchema, { ...forever, ...options }),
  );
}

function follow(
  client: Pick<Client, "close"> & { fallbackNotificationHandler?: unknown },
  request: Connected["request"],
): Connected {
  const heard: Said[] = [];
  client.fallbackNotificationHandler = async (said: Said) => void heard.push(said);
  onTestFinished(() => client.close());
  return { heard, request };
}

export const eras = [
  ["today's client", later],
  ["a client of the initialize era", earlier],
] as const;

export const send = async (
  { hub }: Pick<Setup, "hub">,
  change: Record<string, unknown> = {},
  { id = randomUUID(), type = "issues" } = {},
): Promise<string> => {
  const response = await deliver(hub.url, {
    id,
    type,
    body: JSON.stringify({ ...issueOpened, ...change }),
  });
  expect(response.status).toBe(202);
  return id;
};
export const namesOf = (result: Record<string, unknown>) =>
  (result.events as { name: string }[]).map(({ name }) => name);
export const idsOf = (result: Record<string, unknown>) =>
  (result.events as { eventId: string }[]).map(({ eventId }) => eventId);

/** The code, message and data of an error. */
export const refusalOf = async (request: Promise<unknown>) => {
  const error = (await request.then(
    () => undefined,
    (reason: unknown) => reason,
  )) as { code: number; message: string; data: unknown } | undefined;
  return { code: error?.code, message: error?.message ?? "", data: error?.data };
};
