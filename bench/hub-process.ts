/** Starts the built hub in a separate process, by its command line, as users do. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join, resolve } from "node:path";
import { makeFolder, removeFolder, stopProcess, trackProcess } from "./cleanup.ts";
import { SECRET } from "./signed-webhooks.ts";
import type { Target } from "./target.ts";

export interface HubProcess extends Target {
  data: string;
  /** From the spawn to the first response of /healthz. */
  startedInMs: number;
  /** The lines of the hub's log. */
  log(): Record<string, unknown>[];
  stored(): Promise<number>;
}

export interface HubProcessOptions {
  /** The built CLI. */
  cli: string;
  name: string;
  databaseUrl?: string;
  databasePid?: number;
  /** An existing data folder, which is kept. By default a new one, which is removed. */
  data?: string;
  nodeOptions?: string[];
  env?: Record<string, string>;
}

const START_LIMIT_MS = 30_000;
const root = join(import.meta.dirname, "..");

/** Returns the path of the CLI to measure: the given one, or this checkout's after a build. */
export function findCli(path: string | undefined): string {
  if (path !== undefined) return resolve(path);
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return join(root, "packages/hub/bin/signalbox.js");
}

/** The Node flags of `npm start`, so that the hub is measured as users run it. */
export function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  const args = scripts.start.split(" ");
  return args.slice(
    args.indexOf("node") + 1,
    args.findIndex((arg) => arg.endsWith("signalbox.js")),
  );
}

export async function startHub(options: HubProcessOptions): Promise<HubProcess> {
  const folder = makeFolder();
  const data = options.data ?? join(folder, "data");
  const port = await findFreePort();
  // A file, because a full pipe would block the hub.
  const logFile = join(folder, "log");
  const log = openSync(logFile, "w");
  const spawnedAt = performance.now();
  const child = trackProcess(
    spawn(
      process.execPath,
      [...startFlags(), ...(options.nodeOptions ?? []), options.cli, "serve"],
      {
        cwd: folder, // a folder without signalbox.config.json
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          HOST: "127.0.0.1",
          PORT: String(port),
          SIGNALBOX_DATA: data,
          SIGNALBOX_RATE_LIMIT: "0",
          SIGNALBOX_LOG_FORMAT: "json",
          GITHUB_WEBHOOK_SECRET: SECRET,
          ...options.env,
          ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {}),
        },
        stdio: ["ignore", log, log],
      },
    ),
  );
  closeSync(log);
  while ((await statusOf(port, "/healthz")) !== 200) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (hasEnded || performance.now() - spawnedAt > START_LIMIT_MS)
      throw new Error(`the hub did not start:\n${readFileSync(logFile, "utf8")}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const startedInMs = performance.now() - spawnedAt;

  return {
    name: options.name,
    port,
    pid: child.pid as number,
    ...(options.databasePid === undefined ? {} : { databasePid: options.databasePid }),
    data,
    startedInMs,
    stored: () => storedCount(port),
    log: () =>
      readFileSync(logFile, "utf8")
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async stop() {
      await stopProcess(child);
      removeFolder(folder);
    },
  };
}

/** The counter of stored events in /metrics. */
export async function storedCount(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return text
    .split("\n")
    .filter((line) => /^signalbox_webhooks_total\{.*outcome="stored"/.test(line))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
}

function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on("error", () => resolve(undefined));
  });
}

/** The port must be known before the hub logs it, to measure the time to the first response. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
