/** The hub as users run it: built, a process of its own, started by its command line. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { get } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join, resolve } from "node:path";
import { SECRET } from "./delivery.ts";
import { end, makeFolder, own, removeFolder } from "./owned.ts";
import type { Target } from "./target.ts";

export interface HubProcess extends Target {
  data: string;
  /** From the spawn to the first answer to /healthz. */
  startedInMs: number;
  /** What the hub wrote to its log. */
  log(): Record<string, unknown>[];
  stored(): Promise<number>;
}

export interface HubProcessOptions {
  /** The built CLI. */
  cli: string;
  name: string;
  databaseUrl?: string;
  databasePid?: number;
  /** Used as it is, and left in place; without, a new folder that is removed afterwards. */
  data?: string;
  nodeOptions?: string[];
}

const START_LIMIT_MS = 30_000;
const root = join(import.meta.dirname, "..");

/** The CLI to measure: the one asked for, or this checkout's, built now. */
export function findCli(asked: string | undefined): string {
  if (asked !== undefined) return resolve(asked);
  execFileSync("npm", ["run", "--silent", "build"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  return join(root, "packages/hub/dist/cli.js");
}

/** What `npm start` tells Node: the hub is measured as people run it. */
export function startFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    scripts: { start: string };
  };
  const words = scripts.start.split(" ");
  return words.slice(
    words.indexOf("node") + 1,
    words.findIndex((word) => word.endsWith("cli.js")),
  );
}

export async function startHub(options: HubProcessOptions): Promise<HubProcess> {
  const folder = makeFolder();
  const data = options.data ?? join(folder, "data");
  const port = await findFreePort();
  // To a file: nobody has to read along, and a full pipe would hold the hub up.
  const logFile = join(folder, "log");
  const log = openSync(logFile, "w");
  const spawned = performance.now();
  const child = own(
    spawn(
      process.execPath,
      [...startFlags(), ...(options.nodeOptions ?? []), options.cli, "serve"],
      {
        cwd: folder, // where no signalbox.config.json is
        env: {
          PATH: process.env.PATH,
          HOME: process.env.HOME,
          HOST: "127.0.0.1",
          PORT: String(port),
          SIGNALBOX_DATA: data,
          SIGNALBOX_RATE_LIMIT: "0",
          SIGNALBOX_LOG_FORMAT: "json",
          GITHUB_WEBHOOK_SECRET: SECRET,
          ...(options.databaseUrl ? { DATABASE_URL: options.databaseUrl } : {}),
        },
        stdio: ["ignore", log, log],
      },
    ),
  );
  closeSync(log);
  while ((await statusOf(port, "/healthz")) !== 200) {
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (ended || performance.now() - spawned > START_LIMIT_MS)
      throw new Error(`the hub did not start:\n${readFileSync(logFile, "utf8")}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const startedInMs = performance.now() - spawned;

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
      await end(child);
      removeFolder(folder);
    },
  };
}

/** The counter of stored events that the hub shows in /metrics. */
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

/** Known beforehand, so that the hub can be asked before it has said where it listens. */
async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
