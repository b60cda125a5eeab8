/**
 * Tests schedules with two hubs on one PostgreSQL. Each hub has its own ticker, and a clock that the
 * test drives.
 */
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { createMigratedDatabase } from "../../../../../test/support/postgres.ts";
import { openPostgres } from "../../kernel/backends/postgres.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { createTestTimers, type TestTimers } from "../../kernel/lib/test-timers.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import { publish } from "../store/contract/flow-sample.ts";
import { publishSchedules, scheduleTrigger } from "../store/contract/schedules.ts";
import { createTicker, type Ticker } from "./ticker.ts";

const MINUTE = 60_000;
const FIRST_TICK = Date.UTC(2026, 10, 16, 9);

let url: string;
let admin: pg.Client;
/** Connected to another database of the server, so that it survives an outage of the test's database. */
let server: pg.Client;
let replicas: Replica[];

interface Replica {
  store: Store;
  timers: TestTimers;
  ticker: Ticker;
  /** The number of transactions that fired at least one schedule. */
  firings: number;
  isDead: boolean;
}

async function startReplica(): Promise<Replica> {
  const store = await openPostgres(storeDefinition, url, { onError: () => {} });
  const timers = createTestTimers(FIRST_TICK - 1000);
  const fireSchedules: Store["fireSchedules"] = async (...args) => {
    const count = await store.fireSchedules(...args);
    if (count > 0) replica.firings += 1;
    return count;
  };
  const ticker = createTicker({
    store: { ...store, fireSchedules },
    timers,
    newId: createIds({ now: timers.now }),
    onError: () => {},
  });
  const replica: Replica = { store, timers, ticker, firings: 0, isDead: false };
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

/** Queries the connections of the hubs to the test's database. */
const queryConnections = (select: string, condition: string) =>
  server.query(
    `SELECT ${select} FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'signalbox%' AND ${condition}`,
    [new URL(url).pathname.slice(1)],
  );

const minutely = () =>
  scheduleTrigger({
    config: { cron: "* * * * *", timeZone: "UTC", misfire: "once" },
    schedule: { cron: "* * * * *", time_zone: "UTC", next_at: FIRST_TICK },
  });

/** Advances the clocks of the replicas that are not dead, and runs the timers that become due. */
const advance = (ms: number) => {
  for (const { timers, isDead } of replicas) if (!isDead) timers.advance(ms);
};

/** The ticks that have fired, in minutes after the first tick. */
const firedTicks = async (): Promise<number[]> => {
  const { rows } = await admin.query("SELECT input FROM runs ORDER BY id");
  return rows
    .map(({ input }) => (new Date(JSON.parse(input).scheduled_at).getTime() - FIRST_TICK) / MINUTE)
    .sort((a, b) => a - b);
};
const firstNumbers = (count: number) => Array.from({ length: count }, (_, index) => index);

/** Waits until exactly the expected ticks have fired. Advances the clocks, because replicas retry. */
const untilFired = (expected: number[]) =>
  vi.waitFor(
    async () => {
      advance(250);
      expect(await firedTicks()).toEqual(expected);
    },
    { timeout: 60_000 },
  );

/** Waits until no schedule is due. */
const untilNoneDue = () =>
  vi.waitFor(
    async () => {
      advance(250);
      const due = await (replicas[0] as Replica).store.nextScheduleDue();
      expect(due).toBeGreaterThan((replicas.at(-1) as Replica).timers.now());
    },
    { timeout: 60_000 },
  );

/** Advances the clocks to the minute, and waits until its tick has fired. */
async function tick(minute: number): Promise<void> {
  for (const { timers, isDead } of replicas)
    if (!isDead) timers.advance(FIRST_TICK + minute * MINUTE - timers.now());
  await untilFired(firstNumbers(minute + 1));
  await untilNoneDue();
}

/** Blocks every transaction that queues runs, until the returned function is called. */
async function blockRuns(): Promise<() => Promise<unknown>> {
  await admin.query("BEGIN; SELECT * FROM tenants FOR UPDATE");
  return () => admin.query("ROLLBACK");
}

describe("schedules on two replicas", () => {
  test("start exactly ten runs in ten minutes if they fire every minute", async () => {
    const [first, second] = await Promise.all([startReplica(), startReplica()]);
    await publishSchedules(first.store, [minutely()]);
    for (const minute of firstNumbers(10)) await tick(minute);
    expect(await firedTicks()).toEqual(firstNumbers(10));
    await vi.waitFor(() => expect(first.firings + second.firings).toBe(10));
  });

  test("lose no tick if a replica dies while it fires", async () => {
    const [first, second] = await Promise.all([startReplica(), startReplica()]);
    await publishSchedules(first.store, [minutely()]);
    for (const minute of firstNumbers(5)) await tick(minute);

    // Only the clock of the first replica advances, so this replica fires the tick.
    const unblock = await blockRuns();
    first.timers.advance(FIRST_TICK + 5 * MINUTE - first.timers.now());
    const firing = "wait_event_type = 'Lock'";
    await vi.waitFor(
      async () => {
        first.timers.advance(10);
        expect((await queryConnections("pid", firing)).rowCount).toBe(1);
      },
      { timeout: 60_000 },
    );
    first.isDead = true;
    await queryConnections("pg_terminate_backend(pid)", firing);
    await stop(first);
    await unblock();
    expect(await firedTicks()).toEqual(firstNumbers(5));

    for (const minute of firstNumbers(10).slice(5)) await tick(minute);
    expect(await firedTicks()).toEqual(firstNumbers(10));
    expect(second.firings).toBeGreaterThanOrEqual(5);
  });

  test("fire a tick that was due during an outage of the database when the database is back", async () => {
    const first = await startReplica();
    await publishSchedules(first.store, [minutely()]);
    await tick(0);
    const name = admin.escapeIdentifier(new URL(url).pathname.slice(1));
    await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await queryConnections("pg_terminate_backend(pid)", "true");
    first.timers.advance(FIRST_TICK + MINUTE - first.timers.now());
    await expect(first.store.nextScheduleDue()).rejects.toThrow();
    expect(await firedTicks()).toEqual([0]);
    await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await untilFired([0, 1]);
  });
});

test("a replica fires a schedule in time that another replica has published", async () => {
  const [first, second] = await Promise.all([startReplica(), startReplica()]);
  first.isDead = true; // only the clock of the second replica advances
  const flow = await publishSchedules(first.store, [minutely()]);
  await tick(0);
  // The commit is visible before its result arrives.
  await vi.waitFor(() => expect(second.firings).toBe(1));
  await publish(first.store, flow, { triggers: [] });
  advance(10 * MINUTE);
  await untilFired([0]);
});

test("replicas that publish, fire and delete schedules concurrently neither deadlock nor fire twice", async () => {
  const [first, second] = await Promise.all([startReplica(), startReplica()]);
  const flows = await Promise.all(
    firstNumbers(6).map((index) =>
      publishSchedules((index % 2 ? first : second).store, [minutely()], {
        app: `app-${index % 2}`,
      }),
    ),
  );
  for (const minute of firstNumbers(5)) {
    for (const { timers } of replicas) timers.advance(FIRST_TICK + minute * MINUTE - timers.now());
    await Promise.all(
      flows.map((flow, index) => {
        advance(1);
        return publish((index % 2 ? second : first).store, flow, { triggers: [minutely()] });
      }),
    );
    const expected = firstNumbers(minute + 1).flatMap((tick) => flows.map(() => tick));
    await untilFired(expected);
  }
  await Promise.all(
    flows.map(({ id }) => first.store.deleteFlow({ tenant: "acme", id }, FIRST_TICK)),
  );
  expect(await first.store.nextScheduleDue()).toBeNull();
});
