/**
 * Kills the process that executes runs with `kill -9`, many times. Every run succeeds, no recorded
 * step runs again, and an interrupted step runs again with the same idempotency key. CRASH_KILLS sets
 * the number of kills.
 */

import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { allSteps } from "../../packages/hub/src/flows/runs/store/contract/run-sample.ts";
import { openPostgres } from "../../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../../packages/hub/src/store.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KILLS = Number(process.env.CRASH_KILLS ?? 20);
const RUNS = Math.max(200, 10 * KILLS);
const CALLS_PER_RUN = 9;
/**
 * The server responds to at most this many requests between two kills, so that many runs are active at each
 * kill: a run that was alone on three workers that died would fail.
 */
const CALLS_PER_KILL = 50;
const TOKEN = "sbx_crash_test_admin_token_0123456789";
const TENANT = "local";

/** An external server that records the requests of runs. */
interface EffectServer {
  url: string;
  /** The recorded requests, by idempotency key. */
  effects: Map<string, { run: string; node: string; at: number }[]>;
  /** Responds to this many further requests. Later ones get no response. */
  allow(requests: number): void;
}

async function startEffectServer(): Promise<EffectServer> {
  const effects: EffectServer["effects"] = new Map();
  let allowed = Infinity;
  const http: Server = createServer((request, response) => {
    const key = String(request.headers["idempotency-key"] ?? "");
    const { searchParams } = new URL(request.url ?? "", "http://localhost");
    request.resume().on("end", () => {
      const calls = effects.get(key) ?? [];
      const [run, node] = [searchParams.get("run") ?? "", searchParams.get("node") ?? ""];
      calls.push({ run, node, at: Date.now() });
      effects.set(key, calls);
      allowed -= 1;
      if (allowed < 0) return;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ node }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    effects,
    allow(requests) {
      allowed = requests;
    },
  };
}

/** The nodes: a trigger, two parallel branches of four requests, a merge, another request, a result. */
function createTwelveNodeFlow(server: EffectServer) {
  const requestNode = (id: string) => ({
    id,
    name: id,
    type: "HttpRequest",
    parameters: {
      method: "POST",
      url: `${server.url}/effect`,
      query: { run: "{{ trigger.number }}", node: id },
      settings: { retries: { attempts: 5, backoffMs: 50 } },
    },
  });
  const left = ["a1", "a2", "a3", "a4"];
  const right = ["b1", "b2", "b3", "b4"];
  const chain = (ids: string[]) =>
    ids.slice(1).map((id, index) => ({ source: ids[index] as string, target: id }));
  return {
    name: "Twelve",
    nodes: [
      {
        id: "start",
        name: "Start",
        type: "UserIntent",
        parameters: {
          toolDescription: "Starts",
          parameters: [{ name: "number", type: "integer" }],
        },
      },
      ...[...left, ...right].map(requestNode),
      { id: "meet", name: "Meet", type: "Merge", parameters: {} },
      requestNode("last"),
      {
        id: "end",
        name: "End",
        type: "Return",
        parameters: { value: { number: "{{ trigger.number }}", last: "{{ last.body.node }}" } },
      },
    ],
    edges: [
      ...chain(["start", ...left, "meet", "last", "end"]),
      ...chain(["start", ...right, "meet"]),
    ],
  };
}

const api = async (hub: HubProcess, method: string, path: string, body?: unknown) => {
  const response = await fetch(`${hub.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const result = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(result)}`);
  return result;
};

async function queueRuns(hub: HubProcess, server: EffectServer): Promise<void> {
  await api(hub, "POST", "/api/apps", { slug: "crash", name: "Crash" });
  const flow = await api(hub, "POST", "/api/apps/crash/flows", createTwelveNodeFlow(server));
  await api(hub, "POST", `/api/flows/${flow.id}/publish`, {});
  for (let number = 0; number < RUNS; number += 1)
    await api(hub, "POST", `/api/flows/${flow.id}/runs`, { trigger: "start", input: { number } });
}

const listAllRuns = async (store: Store) => {
  const runs = [];
  let before: string | undefined;
  for (;;) {
    const page = await store.listRuns({ tenant: TENANT, limit: 100, before });
    runs.push(...page);
    before = page.at(-1)?.id;
    if (page.length < 100) return runs;
  }
};

/** Returns the idempotency keys of the steps that are recorded as done. */
async function listDoneKeys(store: Store): Promise<Set<string>> {
  const keys = new Set<string>();
  for (const run of await listAllRuns(store))
    for (const { node_id, status } of await allSteps(store, TENANT, run.id))
      if (status === "done") keys.add(`${run.id}:${node_id}`);
  return keys;
}

async function expectAllSucceeded(store: Store, server: EffectServer): Promise<void> {
  const runs = await listAllRuns(store);
  expect(runs.map(({ status }) => status)).toEqual(Array(RUNS).fill("succeeded"));
  expect(runs.map(({ output }) => output).toSorted((a, b) => numberOf(a) - numberOf(b))).toEqual(
    Array.from({ length: RUNS }, (_, number) => ({ number, last: "last" })),
  );
  // Each key belongs to one node of one run.
  expect(server.effects.size).toBe(RUNS * CALLS_PER_RUN);
  for (const [key, calls] of server.effects) {
    expect(new Set(calls.map(({ run, node }) => `${run} ${node}`)).size, key).toBe(1);
    expect(key.endsWith(`:${calls[0]?.node}`)).toBe(true);
  }
}
const numberOf = (output: unknown) => (output as { number: number }).number;

const env = {
  SIGNALBOX_TOKEN: TOKEN,
  SIGNALBOX_ALLOW_PRIVATE: "on",
  SIGNALBOX_RUN_LEASE: "1",
  SIGNALBOX_LOG_LEVEL: "error",
};

describe("runs", () => {
  it("succeed and repeat no recorded step if their process is killed, on SQLite", async () => {
    const server = await startEffectServer();
    const data = tempFolder();
    const idleHub = await startHubProcess({ data, env: { ...env, SIGNALBOX_RUNS_AT_ONCE: "0" } });
    await queueRuns(idleHub, server);
    await idleHub.stop("SIGKILL");

    const store = openSqlite(storeDefinition, `${data}/signalbox.db`);
    onTestFinished(() => store.close());
    /** The time of each kill, the keys of the steps that were done, and the number of active runs. */
    const kills: { at: number; doneKeys: Set<string>; interruptedRuns: number }[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = server.effects.size;
      server.allow(CALLS_PER_KILL);
      const hub = await startHubProcess({ data, env });
      // The hub is killed while some steps are done and others are active.
      await expect
        .poll(() => server.effects.size - before, { timeout: 240_000, interval: 5 })
        .toBeGreaterThan(10);
      await new Promise((resolve) => setTimeout(resolve, randomInt(60)));
      await hub.stop("SIGKILL");
      const at = Date.now();
      const interrupted = (await listAllRuns(store)).filter(({ status }) => status === "running");
      kills.push({ at, doneKeys: await listDoneKeys(store), interruptedRuns: interrupted.length });
    }
    server.allow(Infinity);
    const hub = await startHubProcess({ data, env });
    await expect
      .poll(
        async () =>
          (await listAllRuns(store)).flatMap(({ status, error }) =>
            status === "succeeded" ? [] : [error?.message ?? status],
          ),
        { timeout: 240_000, interval: 500 },
      )
      .toEqual([]);
    await hub.stop();

    await expectAllSucceeded(store, server);
    for (const { at, doneKeys } of kills)
      for (const key of doneKeys)
        expect((server.effects.get(key) ?? []).filter((effect) => effect.at > at)).toEqual([]);
    expect(kills.map(({ interruptedRuns }) => interruptedRuns > 1)).toEqual(
      Array(KILLS).fill(true),
    );
  }, 600_000);

  it("are never executed by two replicas in parallel, on PostgreSQL", async () => {
    const server = await startEffectServer();
    const databaseUrl = await createMigratedDatabase(inject("postgresUrl"));
    // The lease is longer than any pause of a replica on a busy machine. If it expired, the other replica
    // would claim the runs.
    const replicaEnv = { ...env, DATABASE_URL: databaseUrl, SIGNALBOX_RUN_LEASE: "120" };
    const start = () => startHubProcess({ data: tempFolder(), env: replicaEnv });
    const [first, second] = [await start(), await start()];
    await queueRuns(first, server);
    const store = await openPostgres(storeDefinition, databaseUrl);
    onTestFinished(() => store.close());
    await expect
      .poll(async () => (await listAllRuns(store)).every(({ status }) => status === "succeeded"), {
        timeout: 240_000,
        interval: 500,
      })
      .toBe(true);
    await expectAllSucceeded(store, server);
    // No process was killed, so no call was repeated.
    expect([...server.effects.values()].filter(({ length }) => length !== 1)).toEqual([]);
    await Promise.all([first.stop(), second.stop()]);
  }, 600_000);
});
