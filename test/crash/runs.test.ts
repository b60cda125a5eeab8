/**
 * Kills the process that executes runs with `kill -9`, many times. Every run succeeds, no recorded
 * step runs again, and an interrupted step runs again with the same idempotency key. CRASH_KILLS sets
 * the number of kills.
 */

import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { openPostgres } from "../../packages/hub/src/store/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/store/backends/sqlite.ts";
import { allSteps } from "../../packages/hub/src/store/contract/run-sample.ts";
import type { Store } from "../../packages/hub/src/store/store.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";

const KILLS = Number(process.env.CRASH_KILLS ?? 20);
const RUNS = 200;
/** HTTP calls per run. */
const EFFECTS = 9;
const TOKEN = "sbx_crash_test_admin_token_0123456789";
const LOCAL = "local";

/** An external server that records its calls. */
interface EffectServer {
  url: string;
  /** By idempotency key. */
  effects: Map<string, { run: string; node: string; at: number }[]>;
}

async function startEffectServer(): Promise<EffectServer> {
  const effects: EffectServer["effects"] = new Map();
  const http: Server = createServer((request, response) => {
    const key = String(request.headers["idempotency-key"] ?? "");
    const { searchParams } = new URL(request.url ?? "", "http://localhost");
    request.resume().on("end", () => {
      const calls = effects.get(key) ?? [];
      const [run, node] = [searchParams.get("run") ?? "", searchParams.get("node") ?? ""];
      calls.push({ run, node, at: Date.now() });
      effects.set(key, calls);
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ node, nth: calls.length }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, effects };
}

/** Twelve nodes: a trigger, two parallel branches of four steps, a merge, one more step, a result. */
function twelveNodes(server: EffectServer) {
  const effect = (id: string) => ({
    id,
    name: id,
    type: "HttpRequest",
    parameters: {
      method: "POST",
      url: `${server.url}/effect`,
      query: { run: "{{ trigger.n }}", node: id },
      settings: { retries: { attempts: 5, backoffMs: 50 } },
    },
  });
  const left = ["a1", "a2", "a3", "a4"];
  const right = ["b1", "b2", "b3", "b4"];
  const chain = (ids: string[]) =>
    ids.slice(1).map((id, at) => ({ source: ids[at] as string, target: id }));
  return {
    name: "Twelve",
    nodes: [
      {
        id: "start",
        name: "Start",
        type: "UserIntent",
        parameters: { toolDescription: "Starts", parameters: [{ name: "n", type: "integer" }] },
      },
      ...[...left, ...right].map(effect),
      { id: "meet", name: "Meet", type: "Merge", parameters: {} },
      effect("last"),
      {
        id: "end",
        name: "End",
        type: "Return",
        parameters: { value: { n: "{{ trigger.n }}", last: "{{ last.body.node }}" } },
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
  const flow = await api(hub, "POST", "/api/apps/crash/flows", twelveNodes(server));
  await api(hub, "POST", `/api/flows/${flow.id}/publish`, {});
  for (let n = 0; n < RUNS; n += 1)
    await api(hub, "POST", `/api/flows/${flow.id}/runs`, { trigger: "start", input: { n } });
}

const allRuns = async (store: Store) => {
  const runs = [];
  let before: string | undefined;
  for (;;) {
    const page = await store.listRuns({ tenant: LOCAL, limit: 100, before });
    runs.push(...page);
    before = page.at(-1)?.id;
    if (page.length < 100) return runs;
  }
};

/** The idempotency keys of the steps that are recorded as done. */
async function doneKeys(store: Store): Promise<Set<string>> {
  const keys = new Set<string>();
  for (const run of await allRuns(store))
    for (const { node_id, status } of await allSteps(store, LOCAL, run.id))
      if (status === "done") keys.add(`${run.id}:${node_id}`);
  return keys;
}

async function expectAllSucceeded(store: Store, server: EffectServer): Promise<void> {
  const runs = await allRuns(store);
  expect(runs.map(({ status }) => status)).toEqual(Array(RUNS).fill("succeeded"));
  expect(runs.map(({ output }) => output).toSorted((a, b) => nOf(a) - nOf(b))).toEqual(
    Array.from({ length: RUNS }, (_, n) => ({ n, last: "last" })),
  );
  // Each key belongs to one node of one run.
  expect(server.effects.size).toBe(RUNS * EFFECTS);
  for (const [key, calls] of server.effects) {
    expect(new Set(calls.map(({ run, node }) => `${run} ${node}`)).size, key).toBe(1);
    expect(key.endsWith(`:${calls[0]?.node}`)).toBe(true);
  }
}
const nOf = (output: unknown) => (output as { n: number }).n;

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
    const idle = await startHubProcess({ data, env: { ...env, SIGNALBOX_RUNS_AT_ONCE: "0" } });
    await queueRuns(idle, server);
    await idle.stop("SIGKILL");

    const store = openSqlite(`${data}/signalbox.db`);
    onTestFinished(() => store.close());
    /** For each kill: its time, the recorded steps, and the number of active runs. */
    const kills: { at: number; done: Set<string>; interrupted: number }[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = server.effects.size;
      const hub = await startHubProcess({ data, env });
      // Kill while some steps are done and others are active.
      await expect
        .poll(() => server.effects.size - before, { timeout: 240_000, interval: 5 })
        .toBeGreaterThan(Math.min(10, RUNS * EFFECTS - before - 1));
      await new Promise((resolve) => setTimeout(resolve, randomInt(60)));
      await hub.stop("SIGKILL");
      const at = Date.now();
      const interrupted = (await allRuns(store)).filter(({ status }) => status === "running");
      kills.push({ at, done: await doneKeys(store), interrupted: interrupted.length });
    }
    const hub = await startHubProcess({ data, env });
    await expect
      .poll(async () => (await allRuns(store)).every(({ status }) => status === "succeeded"), {
        timeout: 240_000,
        interval: 500,
      })
      .toBe(true);
    await hub.stop();

    await expectAllSucceeded(store, server);
    for (const { at, done } of kills)
      for (const key of done)
        expect((server.effects.get(key) ?? []).filter((effect) => effect.at > at)).toEqual([]);
    // Most kills interrupted active runs.
    expect(kills.filter(({ interrupted }) => interrupted > 0).length).toBeGreaterThan(KILLS / 2);
  }, 600_000);

  it("are never executed by two replicas in parallel, on PostgreSQL", async () => {
    const server = await startEffectServer();
    const databaseUrl = await createMigratedDatabase(inject("postgresUrl"));
    // Longer than a busy machine may pause a replica: without renewal, the other one claims its runs.
    const replicaEnv = { ...env, DATABASE_URL: databaseUrl, SIGNALBOX_RUN_LEASE: "120" };
    const start = () => startHubProcess({ data: tempFolder(), env: replicaEnv });
    const [first, second] = [await start(), await start()];
    await queueRuns(first, server);
    const store = await openPostgres(databaseUrl);
    onTestFinished(() => store.close());
    await expect
      .poll(async () => (await allRuns(store)).every(({ status }) => status === "succeeded"), {
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
