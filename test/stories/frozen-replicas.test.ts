/** Two replicas on PostgreSQL, one of which is stopped and continued again and again. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver, SECRET } from "../support/deliver.ts";
import { createFlowMaker } from "../support/flow-maker.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const FREEZES = Number(process.env.SIGNALBOX_TEST_FREEZES ?? 6);
/** Longer than the gap that the test accepts on a quiet machine. */
const FROZEN_MS = 5_000;
/** The longest time without an acknowledgement. On a machine that runs other tests, it shows little. */
const MAX_GAP_MS = process.env.SIGNALBOX_QUIET === "1" ? 2_000 : 15_000;
const AWAKE_MS = 1_000;
const PAUSE_MS = 20;
/** Several at the same time, so that a replica is often stopped while it prepares some of them. */
const PARALLEL = ["a", "b", "c", "d", "e", "f"];
const CALLS = ["first", ...PARALLEL];

/** How many transactions of a frozen replica hold locks, or wait for one. */
const OPEN_TRANSACTIONS =
  "SELECT count(*) FILTER (WHERE state = 'idle in transaction')::int AS holding, " +
  "count(*) FILTER (WHERE wait_event_type = 'Lock')::int AS waiting FROM pg_stat_activity " +
  "WHERE datname = current_database() AND state_change < clock_timestamp() - interval '200 ms'";

/** When each request with an idempotency key arrived. */
async function startEffects() {
  const arrivals: { key: string; at: number }[] = [];
  const server = createServer((request, response) => {
    arrivals.push({ key: String(request.headers["idempotency-key"]), at: Date.now() });
    request.resume().on("end", () => response.end("{}"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}

it("a replica that wakes up sends at most the one request that it was writing, and the other one goes on", async () => {
  const effects = await startEffects();
  const extra = {
    SIGNALBOX_RUN_LEASE: "1",
    SIGNALBOX_ALLOW_PRIVATE: "on",
    SIGNALBOX_KEY: Buffer.alloc(32, 1).toString("base64"),
  };
  const { hub, env } = await startApi("PostgreSQL", extra);
  const frozen = await startHubProcess({
    data: tempFolder(),
    env: { ...env, SIGNALBOX_DATA: tempFolder(), GITHUB_WEBHOOK_SECRET: SECRET },
  });
  onTestFinished(async () => {
    process.kill(frozen.pid, "SIGCONT");
    await frozen.stop("SIGKILL");
  });
  const maker = createFlowMaker(hub.url, ADMIN);
  await maker.app("freezes");
  const call = (id: string) => ({
    id,
    type: "HttpRequest",
    name: id,
    parameters: { method: "POST", url: `${effects.url}/${id}` },
  });
  await maker.flow(
    "freezes",
    "Calls",
    [
      {
        id: "on",
        type: "Event",
        name: "On",
        parameters: { source: "github", type: "issues" },
      },
      ...CALLS.map(call),
    ],
    [["on", "first"], ...PARALLEL.map((id): [string, string] => ["first", id])],
  );

  const database = new pg.Client({ connectionString: env.DATABASE_URL });
  await database.connect();
  onTestFinished(() => database.end());
  const end = Date.now() + FREEZES * (FROZEN_MS + AWAKE_MS);
  let sent = 0;
  /** Sends webhooks, with pauses; returns the longest time without an acknowledgement. */
  const load = async (url: string): Promise<number> => {
    let longestGap = 0;
    for (let last = performance.now(); Date.now() < end; ) {
      // A replica that wakes up may close a connection that waited: not acknowledged.
      const answer = await deliver(url).catch(() => undefined);
      if (answer?.status === 202) {
        sent += 1;
        longestGap = Math.max(longestGap, performance.now() - last);
        last = performance.now();
      }
      await sleep(PAUSE_MS);
    }
    return longestGap;
  };
  const wokeAt: number[] = [];
  /** The freezes in which the frozen replica held locks. */
  let holding = 0;
  const freeze = async () => {
    for (let nth = 0; nth < FREEZES; nth += 1) {
      await sleep(AWAKE_MS);
      process.kill(frozen.pid, "SIGSTOP");
      await sleep(300);
      const { rows } = await database.query(OPEN_TRANSACTIONS);
      if (rows[0].holding > 0) holding += 1;
      await sleep(FROZEN_MS - 300);
      wokeAt.push(Date.now());
      process.kill(frozen.pid, "SIGCONT");
    }
  };
  const [gap, otherGap] = await Promise.all([
    load(hub.url),
    load(hub.url),
    ...Array.from({ length: 3 }, () => load(frozen.url)),
    freeze(),
  ]);
  const longestGap = Math.max(gap, otherGap);

  interface RunView {
    id: string;
    status: string;
    steps: { node_id: string; status: string; finished_at: string | null }[];
  }
  const runs: RunView[] = [];
  await vi.waitFor(async () => {
    const page = await maker.call<{ items: { id: string; status: string }[] }>(
      "GET",
      "/api/runs?app=freezes&limit=1",
    );
    const keys = new Set(effects.arrivals.map(({ key }) => key));
    expect(page.items).toHaveLength(1);
    expect(keys.size).toBeGreaterThanOrEqual(CALLS.length * sent);
  }, WAIT);
  const ids = new Set(effects.arrivals.map(({ key }) => key.split(":")[0] ?? ""));
  for (const id of ids)
    await vi.waitFor(async () => {
      const run = await maker.call<RunView>("GET", `/api/runs/${id}`);
      expect(run.status).toBe("succeeded");
      runs.push(run);
    }, WAIT);

  const doneAt = new Map<string, number>();
  for (const { id, steps } of runs)
    for (const { node_id, status, finished_at } of steps)
      if (status === "done" && finished_at) doneAt.set(`${id}:${node_id}`, Date.parse(finished_at));
  const late = effects.arrivals.filter(({ key, at }) => at > (doneAt.get(key) ?? at));
  const lateAfter = wokeAt.map(
    (from, nth) =>
      late.filter(({ at }) => at >= from && at < (wokeAt[nth + 1] ?? Number.POSITIVE_INFINITY))
        .length,
  );
  console.log({
    runs: runs.length,
    longestGap: Math.round(longestGap),
    freezesWithLocks: `${holding} of ${FREEZES}`,
    repeatedEffects: effects.arrivals.length - CALLS.length * runs.length,
    lateEffects: lateAfter,
  });
  // It checks its lease and writes the request in one turn of its event loop. If it is stopped in
  // between, it writes that request when it wakes up; the receiver knows it by its idempotency key.
  expect(Math.max(...lateAfter)).toBeLessThanOrEqual(1);
  expect(late.filter(({ at }) => at < Number(wokeAt[0]))).toEqual([]);
  expect(longestGap).toBeLessThan(MAX_GAP_MS);
}, 600_000);
