/**
 * A hub of its own for an example, on a free port with data that is gone afterwards. Against your
 * own hub: `SIGNALBOX_URL=… SIGNALBOX_TOKEN=… node examples/two-intents/run.ts`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface ExampleHub {
  url: string;
  token: string;
  /** Calls the API; throws with the hub's own words. */
  api<Answer = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Answer>;
  /** Makes the app and the flow, and publishes it; answers with the flow's id. */
  install(app: string, flow: unknown): Promise<string>;
  stop(): Promise<void>;
}

const BIN = fileURLToPath(new URL("../packages/hub/bin/signalbox.js", import.meta.url));

export async function openHub(settings: Record<string, string> = {}): Promise<ExampleHub> {
  const { SIGNALBOX_URL, SIGNALBOX_TOKEN } = process.env;
  const own = SIGNALBOX_URL && SIGNALBOX_TOKEN ? undefined : await start(settings);
  const url = own?.url ?? (SIGNALBOX_URL as string);
  const token = own?.token ?? (SIGNALBOX_TOKEN as string);

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
    stop: async () => own?.stop(),
  };
}

async function start(settings: Record<string, string>) {
  const data = mkdtempSync(join(tmpdir(), "signalbox-example-"));
  const token = "sbx_example_token_of_a_hub_that_nobody_reaches";
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
  const url = await new Promise<string>((resolve, reject) => {
    let output = "";
    hub.stderr?.on("data", (chunk) => {
      output += chunk;
      const found = /^ *Open +(http:\S+)$/m.exec(output)?.[1];
      if (found) resolve(found);
    });
    hub.on("exit", (code) => reject(new Error(`The hub ended (${code}):\n${output}`)));
  });
  return {
    url,
    token,
    stop: () =>
      new Promise<void>((resolve) => {
        hub.on("exit", () => {
          rmSync(data, { recursive: true, force: true });
          resolve();
        });
        hub.kill();
      }),
  };
}

/** The flow of an example's folder, with some of its text replaced. */
export function readFlow(folder: string, replace: Record<string, string> = {}): unknown {
  let text = readFileSync(new URL("flow.json", folder), "utf8");
  for (const [from, to] of Object.entries(replace)) text = text.replaceAll(from, to);
  return JSON.parse(text);
}

/** Waits until something is so; fails when it takes too long. */
export async function until<Value>(look: () => Promise<Value | undefined>): Promise<Value> {
  const end = Date.now() + 20_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error("It did not happen in time.");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
