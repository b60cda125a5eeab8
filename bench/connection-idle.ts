/** A hub with 1,000 connections that nothing calls: it checks each of them every five minutes. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { startBaseline } from "./baseline-process.ts";
import type { Options, Result } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { findCli, type HubProcess, startHub } from "./hub-process.ts";
import { cpuSeconds, residentBytes } from "./process-stats.ts";
import { figure, megabytes, percent, table } from "./table.ts";

const CONNECTIONS = 1_000;
const TENANT = "local";
const TOKEN = "sbx_of_the_benchmark";
/** Longer than a client stays open without calls. */
const UNTIL_IDLE_MS = 70_000;

interface Line {
  connections: number;
  checkSeconds: number;
  bytes: number;
  /** The share of one core. */
  cpu: number;
}

export async function measureIdle({
  quick,
  hub: cliPath,
  reportProgress,
}: Options): Promise<Result> {
  const cli = findCli(cliPath);
  const observeMs = quick ? 30_000 : 300_000;
  const server = await startBaseline(new URL("./mcp-baseline.ts", import.meta.url));
  const lines: Line[] = [];
  try {
    for (const connections of [0, CONNECTIONS]) {
      const data = makeFolder();
      await addConnections(data, connections, `http://127.0.0.1:${server.port}/mcp`);
      const env = { SIGNALBOX_TOKEN: TOKEN, SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" };
      const hub = await startHub({ cli, name: "hub", data, env });
      try {
        const started = performance.now();
        while ((await countChecked(hub)) < connections) {
          reportProgress(`connections: first checks of ${connections}`);
          await sleep(500);
        }
        const checkSeconds = (performance.now() - started) / 1000;
        reportProgress(`connections: ${connections} idle`);
        await sleep(UNTIL_IDLE_MS);
        const before = cpuSeconds(hub.pid);
        await sleep(observeMs);
        const cpu = (cpuSeconds(hub.pid) - before) / (observeMs / 1000);
        lines.push({ connections, checkSeconds, bytes: residentBytes(hub.pid), cpu });
      } finally {
        await hub.stop();
        removeFolder(data);
      }
    }
  } finally {
    await server.stop();
  }
  return {
    tables: [
      {
        title: `Idle connections, observed for ${observeMs / 1000} s`,
        text: table(
          ["connections", "first checks s", "RSS", "CPU of one core"],
          lines.map(({ connections, checkSeconds, bytes, cpu }) => [
            figure(connections),
            connections === 0 ? "–" : figure(checkSeconds),
            megabytes(bytes),
            percent(cpu),
          ]),
        ),
      },
    ],
    goals: [],
    isValid: true,
    data: lines,
  };
}

async function addConnections(data: string, count: number, url: string): Promise<void> {
  const store = openSqlite(storeDefinition, join(data, "signalbox.db"));
  await store.putTenant({ id: TENANT, at: Date.now() });
  for (let at = 0; at < count; at += 1)
    await store.createConnection(
      {
        id: `server-${at}`,
        tenant: TENANT,
        name: `Server ${at}`,
        target: { url },
        sealed: null,
        credentials: {},
      },
      Date.now(),
    );
  await store.close();
}

async function countChecked({ port }: HubProcess): Promise<number> {
  let count = 0;
  let cursor: string | null = "";
  do {
    const query: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : "";
    const response: Response = await fetch(
      `http://127.0.0.1:${port}/api/connections?limit=100${query}`,
      { headers: { authorization: `Bearer ${TOKEN}` } },
    );
    const page = (await response.json()) as {
      items: { status: string }[];
      next_cursor: string | null;
    };
    count += page.items.filter(({ status }) => status === "ok").length;
    cursor = page.next_cursor;
  } while (cursor);
  return count;
}
