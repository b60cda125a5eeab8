/** Starts a hub process, and calls its API with the admin token. */
import { inject, onTestFinished } from "vitest";
import { createTokenByApi } from "./create-token.ts";
import { SECRET } from "./deliver.ts";
import { type HubProcess, startHubProcess } from "./hub-process.ts";
import { createMigratedDatabase } from "./postgres.ts";
import { tempFolder } from "./temp-folder.ts";
import { startWorkerProcess } from "./worker-process.ts";

export const ADMIN = "the-admin-of-this-story";

interface ApiResponse {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  json: any;
  text: string;
  headers: Headers;
}

interface CallOptions {
  token?: string;
  headers?: Record<string, string>;
  /** A raw body instead of JSON. */
  raw?: string | Uint8Array<ArrayBuffer>;
}

export interface Api {
  hub: HubProcess;
  env: Record<string, string>;
  call(method: string, path: string, body?: unknown, options?: CallOptions): Promise<ApiResponse>;
  /** Like `call`, but throws if the response has another status. */
  expect(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    options?: CallOptions,
  ): Promise<ApiResponse>;
  /** Creates a token with the options `--scope` and `--tenant` of `signalbox token create`. */
  token(...args: string[]): Promise<string>;
}

/** The hub on Node with a database, or the Worker in workerd. */
export type Backend = "SQLite" | "PostgreSQL" | "workerd";

export async function startApi(
  backend: Backend = "SQLite",
  extraEnv: Record<string, string> = {},
): Promise<Api> {
  const { SIGNALBOX_DATA: data = tempFolder() } = extraEnv;
  const env: Record<string, string> = {
    GITHUB_WEBHOOK_SECRET: SECRET,
    SIGNALBOX_TOKEN: ADMIN,
    SIGNALBOX_DATA: data,
    ...(backend === "PostgreSQL" && {
      DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")),
    }),
    ...extraEnv,
  };
  const hub =
    backend === "workerd"
      ? await startWorkerProcess({ data, env })
      : await startHubProcess({ data, env });
  // CLI commands find a hub on Node by its data folder, and a Worker by its URL.
  if (backend === "workerd") env.SIGNALBOX_URL = hub.url;
  onTestFinished(async () => void (await hub.stop("SIGKILL")));

  const call: Api["call"] = async (method, path, body, { token = ADMIN, headers, raw } = {}) => {
    const requestBody = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${hub.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(requestBody !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(requestBody !== undefined && { body: requestBody }),
    });
    const text = await response.text();
    const isJson = /\bjson/.test(response.headers.get("content-type") ?? "");
    return {
      status: response.status,
      json: isJson ? JSON.parse(text) : undefined,
      text,
      headers: response.headers,
    };
  };
  return {
    hub,
    env,
    call,
    async expect(status, method, path, body, options) {
      const response = await call(method, path, body, options);
      if (response.status !== status)
        throw new Error(
          `${method} ${path}: expected ${status}, got ${response.status}: ${response.text}`,
        );
      return response;
    },
    async token(...args) {
      return (await createTokenByApi(hub.url, ADMIN, ...args)).token;
    },
  };
}
