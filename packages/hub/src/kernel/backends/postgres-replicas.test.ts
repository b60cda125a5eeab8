/** Several hubs on one PostgreSQL. Each store has its own pool and LISTEN connection. */
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, test, vi } from "vitest";
import { createDatabase } from "../../../../../test/support/postgres.ts";
import {
  publishTriggers,
  republish,
  sampleConnection,
} from "../../connections/store/contract/connection-sample.ts";
import {
  allEvents,
  appendEvents,
  appendRequest,
  ids,
  itemAt,
  START,
  sampleEvent,
  sampleEvents,
  seqsOf,
  type Tuple,
} from "../../events/store/contract/sample.ts";
import type { Store } from "../../store.ts";
import { storeDefinition } from "../../store.ts";
import type { Notice } from "../store/sql.ts";
import { openPostgres } from "./postgres.ts";

/** A transaction that waits for a lock longer than this is in a deadlock. It is not retried. */
const ONCE = { lockTimeoutMs: 15_000, maxAttempts: 1 };

let url: string;
let admin: pg.Client;
let stores: Store[];

beforeEach(async () => {
  url = await createDatabase(inject("postgresUrl"));
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
  // The store retries a detected deadlock, which would hide it. With this setting and `ONCE`, the call
  // fails: the lock timeout expires first.
  await admin.query(
    "ALTER DATABASE " +
      admin.escapeIdentifier(new URL(url).pathname.slice(1)) +
      " SET deadlock_timeout = '60s'",
  );
  stores = [];
});

afterEach(async () => {
  for (const store of stores) await store.close();
  await admin.end();
});

async function openReplicas<Count extends number>(
  count: Count,
  onError?: (error: Error) => void,
): Promise<Tuple<Count, Store>> {
  const opened = await Promise.all(
    Array.from({ length: count }, () =>
      openPostgres(storeDefinition, url, { ...ONCE, ...(onError && { onError }) }),
    ),
  );
  stores.push(...opened);
  return opened as Tuple<Count, Store>;
}

const TERMINATE =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND ";

describe("replicas", () => {
  test("report to `onCommit` only their own commits, and to `subscribe` those of all replicas", async () => {
    const [one, two] = await openReplicas(2);
    const own: Notice[][] = [[], []];
    const all: Notice[][] = [[], []];
    for (const [at, store] of [one, two].entries()) {
      store.onCommit((notice) => own[at]?.push(notice));
      store.subscribe((notice) => all[at]?.push(notice));
    }
    await appendEvents(one, [sampleEvent()]);
    await appendEvents(two, [sampleEvent()]);
    const [first, second] = [1, 2].map((seq) => ({ topic: "events", tenant: "acme", seq }));
    expect(own).toEqual([[first], [second]]);
    await vi.waitFor(() => {
      for (const received of all)
        expect(received.filter(({ topic }) => topic === "events")).toEqual([first, second]);
    }, 60_000);
  });

  test("migrate an empty database only once if they start concurrently", async () => {
    const replicas = await openReplicas(8);
    const { rows } = await admin.query("SELECT * FROM schema_version");
    expect(rows).toHaveLength(1);
    await Promise.all(replicas.map((store) => appendEvents(store, [sampleEvent()])));
    expect(await allEvents(itemAt(replicas, 0))).toHaveLength(8);
  });

  test("assign seq in the order of the commits, so that a reader never misses an event", async () => {
    const [one, two, reader] = await openReplicas(3);
    const WRITES = 60;
    let writing = 8;
    const write = async (store: Store) => {
      for (let at = 0; at < WRITES; at += 1)
        await store.appendEvents(
          [
            appendRequest(sampleEvents(1 + (at % 2))),
            appendRequest([sampleEvent()], `other-${at % 5}`),
          ],
          null,
        );
      writing -= 1;
    };
    const seen: number[] = [];
    const poll = async (): Promise<boolean> => {
      const { items } = await reader.listEvents({
        tenant: "acme",
        limit: 1_000,
        order: "oldest",
        cursor: seen.at(-1) ?? 0,
      });
      seen.push(...items.map(({ seq }) => seq));
      return items.length > 0;
    };
    let polls = 0;
    const read = async () => {
      while (writing > 0) {
        await poll();
        polls += 1;
      }
      while (await poll());
    };
    const writers = Array.from({ length: writing }, (_, at) => write(at % 2 ? one : two));
    await Promise.all([read(), ...writers]);
    expect(polls).toBeGreaterThan(20);
    expect(seen).toEqual(Array.from({ length: 8 * WRITES * 1.5 }, (_, at) => at + 1));
  });

  test("create tenants concurrently without a deadlock", async () => {
    const replicas = await openReplicas(2);
    const tenants = Array.from({ length: 12 }, (_, at) => `tenant-${at}`);
    await Promise.all(
      Array.from({ length: 40 }, (_, at) => {
        const some = tenants.filter((_, index) => (index * 7 + at) % 3 > 0);
        const batch = (at % 2 ? some : some.toReversed()).map((tenant) =>
          appendRequest([sampleEvent()], tenant),
        );
        return itemAt(replicas, at % 2).appendEvents(batch, null);
      }),
    );
    const rows = await Promise.all(tenants.map((tenant) => allEvents(itemAt(replicas, 0), tenant)));
    expect(rows.flat()).toHaveLength(40 * 8);
  });

  test("store one event if two of them receive the same webhook concurrently", async () => {
    const [one, two] = await openReplicas(2);
    for (let round = 0; round < 40; round += 1) {
      const twin = () => sampleEvent({ external_id: `delivery ${round}` });
      const [[first], [second]] = await Promise.all([
        one.appendEvents([appendRequest([twin()])], null),
        two.appendEvents([appendRequest([twin()])], null),
      ]);
      expect([first?.outcome, second?.outcome].sort()).toEqual(["duplicate", "stored"]);
      expect(seqsOf(first)).toEqual([round + 1]);
      expect(seqsOf(second)).toEqual([round + 1]);
    }
    expect(await allEvents(one)).toHaveLength(40);
  });

  test("keep the quota exact in concurrent appends", async () => {
    const replicas = await openReplicas(2);
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        itemAt(replicas, at % 2).appendEvents([appendRequest([sampleEvent()])], 15),
      ),
    );
    expect(results.flat().filter(({ outcome }) => outcome === "stored")).toHaveLength(15);
  });

  test("claim every event exactly once", async () => {
    const replicas = await openReplicas(2);
    const events = sampleEvents(300);
    await appendEvents(itemAt(replicas, 0), events);
    const claimed = await Promise.all(
      Array.from({ length: 10 }, async (_, at) => {
        const mine: string[] = [];
        for (;;) {
          const more = await itemAt(replicas, at % 2).claimEvents({
            tenant: "acme",
            by: `agent-${at}`,
            limit: 7,
            now: START,
            until: START + 1,
          });
          mine.push(...ids(more));
          if (more.length === 0) return mine;
        }
      }),
    );
    expect(claimed.flat().sort()).toEqual(ids(events).sort());
    expect(claimed.filter((mine) => mine.length > 0).length).toBeGreaterThan(1);
  });

  test("publish flows, change connections and reconcile them concurrently, without a deadlock", async () => {
    const replicas = await openReplicas(2);
    const ids = ["a-aaaaaa", "b-bbbbbb", "c-cccccc"];
    const [store] = replicas;
    for (const id of ids) await store.createConnection(sampleConnection({ id }), START);
    const flows = [await publishTriggers(store, []), await publishTriggers(store, [])];
    const doomed = await publishTriggers(store, [], { app: "doomed" });
    const sources = (seed: number) =>
      ids.map((_, at) => ({
        node_id: `n${at}`,
        source: itemAt(ids, (at + seed) % ids.length),
        active: seed % 2 === 0,
      }));
    const reconcile = async (by: string, replica: Store) => {
      const lease = { by, now: START + 1e6, until: START + 2e6, limit: 2 };
      for (const { connection, subscriptions } of await replica.leaseConnections(lease)) {
        await replica.renewConnections(lease, ids);
        for (const { id: subscription, connection: id } of subscriptions) {
          const hash = `${by} ${subscription}`;
          const token = {
            hash,
            tenant: "acme",
            connection: id,
            subscription,
            generation: 0,
            at: START,
          };
          const { target } = connection;
          await replica.stageCallbackToken({
            ...token,
            scope: "connection",
            target,
            types: ["storm"],
          });
          await replica.confirmCallbackToken({ hash, type: "storm", wanted: ["storm"], at: START });
        }
        const results = subscriptions.map(({ id, revision, wanted }) => ({
          id,
          revision,
          configured: revision,
          isRemoved: wanted === "removed",
        }));
        const { id, revision } = connection;
        await replica.finishConnection(by, { id, revision, next_at: START }, results, START);
      }
      await replica.releaseConnections(by);
    };
    await Promise.all(
      Array.from({ length: 30 }, async (_, seed) => {
        const replica = itemAt(replicas, seed % 2);
        const id = itemAt(ids, seed % ids.length);
        await republish(replica, itemAt(flows, seed % 2), sources(seed));
        await reconcile(`keeper ${seed}`, replica);
        await replica.updateConnection("acme", id, { sealed: `${seed}` }, START);
        if (seed === 9) {
          await republish(replica, doomed, sources(1));
          await replica.deleteApp("acme", "doomed", START);
        }
        if (seed === 25) await replica.deleteConnection("acme", "b-bbbbbb", START);
      }),
    );
    for (const flow of flows) await republish(store, flow, sources(0));
    for (const id of ["a-aaaaaa", "c-cccccc"]) {
      const found = await store.listTriggerSubscriptions("acme", id);
      const expected = flows.map((flow) => flow.id).sort();
      expect(found.map(({ flow_id }) => flow_id).sort()).toEqual(expected);
    }
    expect(await store.listTriggerSubscriptions("acme", "b-bbbbbb")).toEqual([]);
  });

  test("receive each other's notices, even after a connection has broken", async () => {
    const errors: Error[] = [];
    const [one, two] = await openReplicas(2, (error) => errors.push(error));
    const notices: Notice[] = [];
    two.subscribe((notice) => notices.push(notice));

    await appendEvents(one, sampleEvents(2));
    await vi.waitFor(
      () => expect(notices).toEqual([{ topic: "events", tenant: "acme", seq: 2 }]),
      60_000,
    );

    await admin.query(`${TERMINATE} application_name = 'signalbox listen'`);
    await vi.waitFor(() => expect(errors.length).toBeGreaterThan(0), 60_000);
    await appendEvents(one, [sampleEvent()]);
    // Notices during the outage are lost, so the listener receives a gap notice.
    await vi.waitFor(() => expect(notices.at(-1)).toEqual({ topic: "gap" }), 60_000);
    await appendEvents(one, [sampleEvent()]);
    await vi.waitFor(
      () => expect(notices.at(-1)).toEqual({ topic: "events", tenant: "acme", seq: 4 }),
      60_000,
    );
  });
});

describe("a broken connection", () => {
  test("fails only the call that uses it", async () => {
    const [store] = await openReplicas(1);
    await appendEvents(store, [sampleEvent()]);
    await admin.query("BEGIN; SELECT * FROM tenants FOR UPDATE");
    const stuck = appendEvents(store, [sampleEvent()]).then(
      () => undefined,
      (error: unknown) => error,
    );
    const waiting = "application_name = 'signalbox' AND wait_event_type = 'Lock'";
    await vi.waitFor(async () => {
      const { rowCount } = await admin.query(`${TERMINATE} ${waiting}`);
      expect(rowCount).toBe(1);
    }, 60_000);
    const error = await stuck;
    expect(error).toBeInstanceOf(Error);
    expect(store.isDataError(error)).toBe(false);
    await admin.query("ROLLBACK");
    expect(await appendEvents(store, [sampleEvent()])).toEqual([2]);
  });

  test("is replaced if it breaks while it is idle", async () => {
    const errors: Error[] = [];
    const [store] = await openReplicas(1, (error) => errors.push(error));
    await Promise.all([appendEvents(store, [sampleEvent()]), appendEvents(store, [sampleEvent()])]);
    const { rowCount } = await admin.query(`${TERMINATE} application_name = 'signalbox'`);
    await vi.waitFor(() => expect(errors).toHaveLength(rowCount ?? 0), 60_000);
    expect(await appendEvents(store, [sampleEvent()])).toEqual([3]);
    expect(await store.pendingStatus("acme")).toMatchObject({ pending_count: 3 });
  });

  test("does not crash the process if it breaks between two statements", async () => {
    const [store] = await openReplicas(1);
    await appendEvents(store, [sampleEvent()]);
    const doomed = Promise.allSettled([appendEvents(store, [sampleEvent()])]);
    await new Promise((resolve) => setImmediate(resolve));
    // spawnSync blocks this process. The response to BEGIN and the end of the connection then arrive
    // together, so the connection ends while no statement is running.
    const pgPath = JSON.stringify(createRequire(import.meta.url).resolve("pg"));
    const kill = spawnSync(
      process.execPath,
      [
        "-e",
        `const pg = require(${pgPath}); const c = new pg.Client(process.argv[1]); c.connect().then(() => c.query(process.argv[2])).then(() => c.end())`,
        url,
        `${TERMINATE} application_name = 'signalbox'`,
      ],
      { encoding: "utf8" },
    );
    expect(kill.stderr).toBe("");
    const [outcome] = await doomed;
    expect(outcome?.status).toBe("rejected");
    expect(await appendEvents(store, [sampleEvent()])).toEqual([2]);
  });
});
