/** Runs the built Worker in workerd, as a child process with its storage in a folder. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { closeConnectionsTo } from "./close-connections.ts";
import { fixedPort } from "./fixed-port.ts";
import type { HubProcess, HubProcessOptions } from "./hub-process.ts";
import { MAX_WAIT_MS } from "./timeouts.ts";

/** The binary that comes with @cloudflare/vitest-plugin. */
const WORKERD = fileURLToPath(new URL("../../node_modules/.bin/workerd", import.meta.url));
const HUB = fileURLToPath(new URL("../../packages/hub/", import.meta.url));

/** The Durable Object classes by binding, as in wrangler.jsonc. */
const CLASSES = {
  TENANT_REGISTRY: "TenantRegistry",
  WEBHOOK_STORE: "WebhookStore",
  WEBHOOK_MCP_AGENT: "WebhookMcpAgent",
};

export const WORKER_MODULES = ["index.js", "quickjs.wasm"].map(
  (name) => `${HUB}dist/worker/${name}`,
);

interface WorkerProcessOptions extends HubProcessOptions {
  /** The files of another Worker, its entry first. */
  modules?: readonly string[];
  /** The Durable Object classes of the other Worker, by binding. */
  classes?: Record<string, string>;
}

export async function startWorkerProcess(options: WorkerProcessOptions): Promise<HubProcess> {
  const { data, env = {}, modules = WORKER_MODULES, classes = CLASSES } = options;
  const storage = join(data, "objects");
  mkdirSync(storage, { recursive: true });
  const config = join(data, "worker.capnp");
  const { PORT = await fixedPort(), ...variables } = env;
  const settings = {
    ...DEFAULT_SETTINGS,
    SIGNALBOX_PUBLIC_URL: `http://127.0.0.1:${PORT}`,
    ...variables,
  };
  writeFileSync(config, createConfig({ storage, port: PORT, settings, modules, classes }));
  const args = ["serve", "--experimental", "--import-path=/", "--control-fd=3", config];
  const child = spawn(WORKERD, args, { stdio: ["ignore", "pipe", "pipe", "pipe"] });
  let output = "";
  let control = "";
  const ended = once(child, "exit").then(([code]) => code as number | null);
  const port = new Promise<number>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    (child.stdio[3] as Readable).on("data", (chunk: Buffer) => {
      control += chunk.toString();
      const listening = /"event":"listen","socket":"http","port":(\d+)/.exec(control)?.[1];
      if (listening) resolve(Number(listening));
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), MAX_WAIT_MS);
    void once(child, "close").then(([code]) => {
      clearTimeout(timer);
      reject(new Error(`workerd ended (${code}) before it was listening:\n${output}`));
    });
    child.stdio[3]?.once("data", () => clearTimeout(timer));
  });
  const url = `http://127.0.0.1:${await port}`;
  closeConnectionsTo(url);
  return {
    url,
    pid: child.pid as number,
    output: () => output,
    exited: ended,
    // After SIGTERM, workerd waits until all streams have ended.
    async stop(signal = "SIGKILL") {
      child.kill(signal);
      return ended;
    },
  };
}

/** Returns the database file of a class that has exactly one object. */
export function objectFile(data: string, className: string): string {
  const folder = join(data, "objects", `signalbox-${className}`);
  const [file, another] = readdirSync(folder).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
  if (!file || another)
    throw new Error(`${folder} must contain the database of exactly one object`);
  return join(folder, file);
}

const DEFAULT_SETTINGS: Record<string, string> = {
  SIGNALBOX_KEY: Buffer.alloc(32, "key").toString("base64"),
  SIGNALBOX_RATE_LIMIT: "0",
  GITHUB_IP_ALLOWLIST: "off",
};

/** Creates a configuration of workerd: https://github.com/cloudflare/workerd/blob/main/src/workerd/server/workerd.capnp */
function createConfig({
  storage,
  port,
  settings,
  modules,
  classes,
}: Required<Pick<WorkerProcessOptions, "modules" | "classes">> & {
  storage: string;
  port: string;
  settings: Record<string, string>;
}): string {
  const quote = JSON.stringify;
  const bindings = [
    ...Object.entries(classes).map(
      ([name, className]) => `(name = "${name}", durableObjectNamespace = "${className}")`,
    ),
    ...Object.entries(settings).map(
      ([name, value]) => `(name = "${name}", text = ${quote(value)})`,
    ),
    `(name = "ASSETS", service = "assets")`,
  ];
  const namespaces = Object.values(classes).map(
    (name) => `(className = "${name}", uniqueKey = "signalbox-${name}", enableSql = true)`,
  );
  const moduleEntries = modules.map(
    (file) =>
      `(name = ${quote(basename(file))}, ${file.endsWith(".wasm") ? "wasm" : "esModule"} = embed ${quote(file)})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "hub", worker = .hub),
    (name = "data", disk = (path = ${quote(storage)}, writable = true)),
    (name = "assets", disk = (path = ${quote(`${HUB}dist/web`)})),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "hub")],
);
const hub :Workerd.Worker = (
  modules = [${moduleEntries.join(", ")}],
  compatibilityDate = "2026-09-01",
  compatibilityFlags = ["enable_request_signal", "request_signal_passthrough"],
  bindings = [${bindings.join(", ")}],
  durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "data"),
);
`;
}
