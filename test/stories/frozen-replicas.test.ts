/** Two replicas share a PostgreSQL database. SIGSTOP freezes one of them repeatedly. */
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
/** Longer than `MAX_GAP_MS` on a quiet machine: the test fails if a freeze blocks the other replica. */
const FROZEN_MS = 5_000;
/** The maximum time without an acknowledgement. Other tests on the same machine also cause gaps. */
const MAX_GAP_MS = process.env.SIGNALBOX_QUIET === "1" ? 2_000 : 15_000;
const AWAKE_MS = 1_000;
const PAUSE_MS = 20;
/** Nodes that run in parallel, so that a freeze often interrupts the replica between their requests. */
const PARALLEL = ["a", "b", "c", "d", "e", "f"];
const CALLS = ["first", ...PARALLEL];

/** Counts open transactions that have been idle for 200 ms. They belong to the frozen replica. */
const COUNT_IDLE_TRANSACTIONS =
  "SELECT count(*)::int AS count FROM pg_stat_activity " +
  "WHERE datname = current_database() AND state = 'idle in transaction' " +
  "AND state_change < clock_timestamp() - interval '200 ms'";

/** Starts a server that records the time and the idempotency key of each request. */
async function startEffectServer() {
  const arrivals: { key: string; at: number }[] = [];
  const server = createServer((request, response) => {
    arrivals.push({ key: String(request.headers["idempotency-key"]), at: Date.now() });
    request.resume().on("end", () => response.end("{}"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, arrivals };
}

it("a frozen replica sends at most one late request when it resumes, and does not block the other replica", async () => {
  const effects = await startEffectServer();
  const settings = {
    SIGNALBOX_RUN_LEASE: "1",
    SIGNALBOX_ALLOW_PRIVATE: "on",
    SIGNALBOX_KEY: Buffer.alloc(32, 1).toString("base64"),
  };
  const { hub, env } = await startApi("PostgreSQL", settings);
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
  const requestNode = (id: string) => ({
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
      ...CALLS.map(requestNode),
    ],
    [["on", "first"], ...PARALLEL.map((id): [string, string] => ["first", id])],
  );

  const database = new pg.Client({ connectionString: env.DATABASE_URL });
  await database.connect();
  onTestFinished(() => database.end());
  const endsAt = Date.now() + FREEZES * (FROZEN_MS + AWAKE_MS);
  let acknowledged = 0;
  /** Sends webhooks until `endsAt`. Returns the longest time without an acknowledgement. */
  const sendWebhooks = async (url: string): Promise<number> => {
    let longestGap = 0;
    for (let last = performance.now(); Date.now() < endsAt; ) {
      // A replica that resumes may close a waiting connection; then the webhook is not acknowledged.
      const response = await deliver(url).catch(() => undefined);
      if (response?.status === 202) {
        acknowledged += 1;
        longestGap = Math.max(longestGap, performance.now() - last);
        last = performance.now();
      }
      await sleep(PAUSE_MS);
    }
    return longestGap;
  };
  const resumedAt: number[] = [];
  /** The number of freezes in which the frozen replica had an open transaction. */
  let freezesWithTransaction = 0;
  const freezeRepeatedly = async () => {
    for (let count = 0; count < FREEZES; count += 1) {
      await sleep(AWAKE_MS);
      process.kill(frozen.pid, "SIGSTOP");
      await sleep(300);
      const { rows } = await database.query(COUNT_IDLE_TRANSACTIONS);
      if (rows[0].count > 0) freezesWithTransaction += 1;
      await sleep(FROZEN_MS - 300);
      resumedAt.push(Date.now());
      process.kill(frozen.pid, "SIGCONT");
    }
  };
  const [firstGap, secondGap] = await Promise.all([
    sendWebhooks(hub.url),
    sendWebhooks(hub.url),
    ...Array.from({ length: 3 }, () => sendWebhooks(frozen.url)),
    freezeRepeatedly(),
  ]);
  const longestGap = Math.max(firstGap, secondGap);

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
    expect(keys.size).toBeGreaterThanOrEqual(CALLS.length * acknowledged);
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
  /** The requests that arrived after their step was recorded as done. */
  const lateArrivals = effects.arrivals.filter(({ key, at }) => at > (doneAt.get(key) ?? at));
  const lateCountPerFreeze = resumedAt.map(
    (from, index) =>
      lateArrivals.filter(
        ({ at }) => at >= from && at < (resumedAt[index + 1] ?? Number.POSITIVE_INFINITY),
      ).length,
  );
  console.log({
    runs: runs.length,
    longestGap: Math.round(longestGap),
    freezesWithTransaction: `${freezesWithTransaction} of ${FREEZES}`,
    repeatedEffects: effects.arrivals.length - CALLS.length * runs.length,
    lateEffects: lateCountPerFreeze,
  });
  // A replica checks its lease and writes the request in one turn of its event loop. If it is frozen
  // between the two, it writes the request when it resumes. The receiver can detect the repeat by the
  // idempotency key.
  expect(Math.max(...lateCountPerFreeze)).toBeLessThanOrEqual(1);
  expect(lateArrivals.filter(({ at }) => at < Number(resumedAt[0]))).toEqual([]);
  expect(longestGap).toBeLessThan(MAX_GAP_MS);
}, 600_000);
