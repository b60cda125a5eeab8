/**
 * Schedules with two hubs on one PostgreSQL, each with its own ticker and a clock that the test
 * drives.
 */
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { createMigratedDatabase } from "../../../../test/support/postgres.ts";
import { createIds } from "../lib/ids.ts";
import { createTestTimers, type TestTimers } from "../lib/test-timers.ts";
import { openPostgres } from "../store/backends/postgres.ts";
import { publish } from "../store/contract/flow-sample.ts";
import { publishSchedules, scheduleTrigger } from "../store/contract/schedules.ts";
import type { Store } from "../store/store.ts";
import { createTicker, type Ticker } from "./ticker.ts";

const MINUTE = 60_000;
const T = Date.UTC(2026, 10, 16, 9);

let url: string;
let admin: pg.Client;
/** Connected to another database, and never in a transaction. */
let server: pg.Client;
let replicas: Replica[];

interface Replica {
  store: Store;
  timers: TestTimers;
  ticker: Ticker;
  /** The number of transactions that fired at least one schedule. */
  fired: number;
  isDead: boolean;
}

async function startReplica(): Promise<Replica> {
  const store = await openPostgres(url, { onError: () => {} });
  const timers = createTestTimers(T - 1000);
  const fireSchedules: Store["fireSchedules"] = async (...args) => {
    const count = await store.fireSchedules(...args);
    if (count > 0) replica.fired += 1;
    return count;
  };
  const ticker = createTicker({
    store: { ...store, fireSchedules },
    timers,
    newId: createIds({ now: timers.now }),
    onError: () => {},
  });
  const replica: Replica = { store, timers, ticker, fired: 0, isDead: false };
  replicas.push(replica);
  return replica;
}

beforeEach(async () => {
  url = await createMigratedDatabase(inject("postgresUrl"));
  admin = new pg.Client({ connectionString: url });
  server = new pg.Client({ connectionString: inject("postgresUrl") });
  await Promise.all([admin.connect(), server.connect()]);
  replicas = [];
});

afterEach(async () => {
  for (const replica of replicas) {
    await stop(replica);
    await replica.store.close();
  }
  await Promise.all([admin.end(), server.end()]);
});

async function stop({ ticker, timers }: Replica): Promise<void> {
  const stopped = ticker.close();
  timers.advance(0); // runs deferred work
  await stopped;
}

/** The connections of the hubs to the test's database. */
const connections = (select: string, condition: string) =>
  server.query(
    `SELECT ${select} FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'signalbox%' AND ${condition}`,
    [new URL(url).pathname.slice(1)],
  );

const minutely = () =>
  scheduleTrigger({
    config: { cron: "* * * * *", timeZone: "UTC", misfire: "once" },
    schedule: { cron: "* * * * *", time_zone: "UTC", next_at: T },
  });

/** Moves the clocks of the living replicas; timers that become due meanwhile run, too. */
const advance = (ms: number) => {
  for (const { timers, isDead } of replicas) if (!isDead) timers.advance(ms);
};

const ticks = async (): Promise<number[]> => {
  const { rows } = await admin.query("SELECT input FROM runs ORDER BY id");
  return rows
    .map(({ input }) => (new Date(JSON.parse(input).scheduled_at).getTime() - T) / MINUTE)
    .sort((a, b) => a - b);
};
const upTo = (count: number) => Array.from({ length: count }, (_, nth) => nth);

/** Lets both replicas do what is due. The clocks move a little, for their retries. */
const settled = (expected: number[]) =>
  vi.waitFor(
    async () => {
      advance(250);
      expect(await ticks()).toEqual(expected);
    },
    { timeout: 60_000 },
  );

/** Waits until every living replica has an alarm and nothing else to do. */
const idle = () =>
  vi.waitFor(
    async () => {
      advance(250);
      const due = await (replicas[0] as Replica).store.nextScheduleDue();
      expect(due).toBeGreaterThan((replicas.at(-1) as Replica).timers.now());
    },
    { timeout: 60_000 },
  );

/** Moves the living clocks to the minute, then waits until its tick has fired. */
async function tick(minute: number): Promise<void> {
  for (const { timers, isDead } of replicas)
    if (!isDead) timers.advance(T + minute * MINUTE - timers.now());
  await settled(upTo(minute + 1));
  await idle();
}

/** Blocks every transaction that queues runs, until the returned function is called. */
async function blockRuns(): Promise<() => Promise<unknown>> {
  await admin.query("BEGIN; SELECT * FROM tenants FOR UPDATE");
  return () => admin.query("ROLLBACK");
}

describe("field note: two replicas fire twice; a broker outage loses the tick", () => {
  test("a schedule every minute over ten minutes gives exactly ten runs on two replicas", async () => {
    const [one, two] = await Promise.all([startReplica(), startReplica()]);
    await publishSchedules(one.store, [minutely()]);
    for (const minute of upTo(10)) await tick(minute);
    expect(await ticks()).toEqual(upTo(10));
    expect(one.fired + two.fired).toBe(10);
  });

  test("a replica that dies while it fires loses no tick: still ten runs", async () => {
    const [one, two] = await Promise.all([startReplica(), startReplica()]);
    await publishSchedules(one.store, [minutely()]);
    for (const minute of upTo(5)) await tick(minute);

    // The clock of the other replica is behind, so that this one fires the tick.
    const unblock = await blockRuns();
    one.timers.advance(T + 5 * MINUTE - one.timers.now());
    const firing = "wait_event_type = 'Lock'";
    await vi.waitFor(
      async () => {
        one.timers.advance(10);
        expect((await connections("pid", firing)).rowCount).toBe(1);
      },
      { timeout: 60_000 },
    );
    one.isDead = true;
    await connections("pg_terminate_backend(pid)", firing);
    await stop(one);
    await unblock();
    expect(await ticks()).toEqual(upTo(5));

    for (const minute of upTo(10).slice(5)) await tick(minute);
    expect(await ticks()).toEqual(upTo(10));
    expect(two.fired).toBeGreaterThanOrEqual(5);
  });

  test("a tick during an outage of the database fires when the database is back", async () => {
    const one = await startReplica();
    await publishSchedules(one.store, [minutely()]);
    await tick(0);
    const name = admin.escapeIdentifier(new URL(url).pathname.slice(1));
    await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await connections("pg_terminate_backend(pid)", "true");
    one.timers.advance(T + MINUTE - one.timers.now());
    await expect(one.store.nextScheduleDue()).rejects.toThrow();
    expect(await ticks()).toEqual([0]);
    await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await settled([0, 1]);
  });
});

test("a schedule that one replica publishes makes the other one fire in time", async () => {
  const [one, two] = await Promise.all([startReplica(), startReplica()]);
  one.isDead = true; // only the clock of the other replica moves
  const flow = await publishSchedules(one.store, [minutely()]);
  await tick(0);
  expect(two.fired).toBe(1);
  await publish(one.store, flow, { triggers: [] });
  advance(10 * MINUTE);
  await settled([0]);
});

test("replicas that publish, fire and delete concurrently neither deadlock nor fire twice", async () => {
  const [one, two] = await Promise.all([startReplica(), startReplica()]);
  const flows = await Promise.all(
    upTo(6).map((nth) =>
      publishSchedules((nth % 2 ? one : two).store, [minutely()], { app: `app-${nth % 2}` }),
    ),
  );
  for (const minute of upTo(5)) {
    for (const { timers } of replicas) timers.advance(T + minute * MINUTE - timers.now());
    await Promise.all(
      flows.map((flow, nth) => {
        advance(1);
        return publish((nth % 2 ? two : one).store, flow, { triggers: [minutely()] });
      }),
    );
    const expected = upTo(minute + 1).flatMap((tick) => flows.map(() => tick));
    await settled(expected);
  }
  await Promise.all(flows.map(({ id }) => one.store.deleteFlow({ tenant: "acme", id }, T)));
  expect(await one.store.nextScheduleDue()).toBeNull();
});
