/**
 * Starts a temporary hub for an example, on a free port, and deletes its data at the end. To run an example
 * with your own hub: `SIGNALBOX_URL=… SIGNALBOX_TOKEN=… node examples/two-intents/run.ts`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface ExampleHub {
  url: string;
  token: string;
  /** Calls the API; throws if the status is not 2xx. */
  api<Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Body>;
  /** Creates the app and the flow, publishes the flow and returns its id. */
  install(app: string, flow: unknown): Promise<string>;
  stop(): Promise<void>;
}

const BIN = fileURLToPath(new URL("../packages/hub/bin/signalbox.js", import.meta.url));

export async function openHub(settings: Record<string, string> = {}): Promise<ExampleHub> {
  const { SIGNALBOX_URL, SIGNALBOX_TOKEN } = process.env;
  if (SIGNALBOX_URL && !SIGNALBOX_TOKEN)
    throw new Error(
      "SIGNALBOX_URL is set, but SIGNALBOX_TOKEN is not: set it to an admin token of that hub.",
    );
  const { url, token, stop } =
    SIGNALBOX_URL && SIGNALBOX_TOKEN
      ? { url: SIGNALBOX_URL, token: SIGNALBOX_TOKEN, stop: async () => {} }
      : await startHub(settings);

  const api: ExampleHub["api"] = async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  };
  return {
    url,
    token,
    api,
    async install(app, flow) {
      await api("POST", "/api/apps", { slug: app, name: app });
      const { id } = await api<{ id: string }>("POST", `/api/apps/${app}/flows`, flow);
      await api("POST", `/api/flows/${id}/publish`, {});
      return id;
    },
    stop,
  };
}

async function startHub(settings: Record<string, string>) {
  const data = mkdtempSync(join(tmpdir(), "signalbox-example-"));
  const token = "sbx_example_token_of_a_temporary_local_hub";
  const hub: ChildProcess = spawn(process.execPath, [BIN, "serve"], {
    env: {
      PATH: process.env.PATH,
      PORT: "0",
      SIGNALBOX_DATA: data,
      SIGNALBOX_TOKEN: token,
      ...settings,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(hub, "exit");
  const stop = async () => {
    hub.kill();
    await exited;
    rmSync(data, { recursive: true, force: true });
  };
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    hub.stderr?.on("data", (chunk) => {
      output += chunk;
      // The hub prints its address when it is ready.
      const printedUrl = /^ *Open +(http:\S+)$/m.exec(output)?.[1];
      if (printedUrl) resolve(printedUrl);
    });
    hub.on("exit", (code) => reject(new Error(`The hub exited with code ${code}:\n${output}`)));
  }).catch(async (error) => {
    await stop();
    throw error;
  });
  return { url, token, stop };
}

/** Reads flow.json from the folder of the example. Each key of `replacements` is replaced with its value. */
export function readFlow(exampleUrl: string, replacements: Record<string, string> = {}): unknown {
  let text = readFileSync(new URL("flow.json", exampleUrl), "utf8");
  for (const [from, to] of Object.entries(replacements)) text = text.replaceAll(from, to);
  return JSON.parse(text);
}

/** Calls `read` repeatedly until it returns a value. Throws after a minute. */
export async function waitFor<Value>(read: () => Promise<Value | undefined>): Promise<Value> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    if (Date.now() > deadline)
      throw new Error("The expected state was not reached within a minute.");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
