import type { EvaluationResult } from "@signalbox/rules/flows/evaluation.ts";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { createLargeReads } from "../../events/inbox/large-reads.ts";
import type { NewEvent } from "../../events/model.ts";
import { appendRequest, START, sampleEvent } from "../../events/store/contract/sample.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { createIds } from "../../kernel/lib/ids.ts";
import { createTestTimers, type TestTimers } from "../../kernel/lib/test-timers.ts";
import { createGroupCommit } from "../../kernel/store/group-commit.ts";
import { type Append, createAppend } from "../../pipeline.ts";
import { type Store, storeDefinition } from "../../store.ts";
import type { StoredFlow } from "../model.ts";
import { eventTrigger, makeFlow, publish } from "../store/contract/flow-sample.ts";
import type { RecordedRequest } from "../test-run-job.ts";
import { createDeferredMatching, type DeferredMatching } from "./deferred-matching.ts";
import { createMatcher } from "./matcher.ts";

const TENANT = "acme";
const WITHIN_MS = 20;

let store: Store;
let hubs: Hub[];

interface Hub {
  timers: TestTimers;
  matching: DeferredMatching;
  append: Append;
  /** The evaluations that have not ended. */
  pending: {
    expressions: readonly string[];
    data: unknown;
    end(result: EvaluationResult): void;
    fail(error: Error): void;
    isAborted: boolean;
  }[];
  errors: unknown[];
  trips: unknown[];
  /** Advances the clock, and runs what is due. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

beforeEach(() => {
  store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  hubs = [];
});

afterEach(async () => {
  for (const hub of hubs) await hub.close();
  await store.close();
});

const holds: EvaluationResult = { log: [], output: [{ holds: true }] };
const exceeds: EvaluationResult = {
  log: [],
  error: "code_timeout",
  message: "exceeds the time limit of 1 s",
};

/** A process with the store. The test ends its evaluations. */
function startHub({
  hubStore = store,
  at = START,
  isBlocking = false,
}: {
  hubStore?: Store;
  at?: number;
  isBlocking?: boolean;
} = {}): Hub {
  const timers = createTestTimers(at);
  const pending: Hub["pending"] = [];
  const errors: unknown[] = [];
  const trips: unknown[] = [];
  const runJob: RunJob = (request: RecordedRequest, { signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<EvaluationResult>();
    const { expressions = [] } = request;
    const { data } = request;
    const entry = { expressions, data, end: resolve, fail: reject, isAborted: false };
    pending.push(entry);
    signal.addEventListener("abort", () => {
      entry.isAborted = true;
      reject(signal.reason);
    });
    return promise;
  };
  const { now } = timers;
  const matcher = createMatcher({
    store: hubStore,
    runJob,
    now,
    newId: createIds({ now }),
    maxChain: 5,
    maxLoops: 30,
  });
  const matching = createDeferredMatching({
    store: hubStore,
    matcher,
    largeReads: createLargeReads(),
    timers,
    withinMs: isBlocking ? undefined : WITHIN_MS,
    onTripped: (_, tripped) => trips.push(tripped),
    onError: (error) => errors.push(error),
  });
  const commit = createGroupCommit({ store: hubStore, quota: null });
  const advance = async (ms: number) => {
    for (let part = 0; part < 8; part += 1) {
      timers.advance(part === 0 ? ms : 0);
      await new Promise(setImmediate);
    }
  };
  const hub: Hub = {
    timers,
    matching,
    append: createAppend({ matcher: matching, commit }),
    pending,
    errors,
    trips,
    advance,
    async close() {
      let isClosed = false;
      const closing = matching.close().finally(() => {
        isClosed = true;
      });
      while (!isClosed) await advance(0);
      matcher.close();
      await closing;
    },
  };
  hubs.push(hub);
  return hub;
}

const publishFilter = async (filter = "data.n > 1") =>
  publish(store, await makeFlow(store), { triggers: [eventTrigger({ config: { filter } })] });

const createEvent = (n = 2, overrides: Partial<NewEvent> = {}) =>
  sampleEvent({ body: utf8(JSON.stringify({ n })), ...overrides });
const statusOf = async ({ id }: NewEvent) => (await store.getEvent(TENANT, id))?.trigger_status;
const countRuns = async () => (await store.listRuns({ tenant: TENANT, limit: 100 })).length;

/** Waits until the filters of the hub's events are being evaluated. */
const untilPending = (hub: Hub, count = 1) =>
  vi.waitFor(
    async () => {
      await hub.advance(0);
      expect(hub.pending).toHaveLength(count);
    },
    { timeout: 20_000 },
  );

/** Stores events whose filters are not evaluated in time. */
async function appendLate(hub: Hub, ...events: NewEvent[]): Promise<void> {
  const before = hub.pending.length;
  const appending = Promise.all(events.map((event) => hub.append(appendRequest([event]))));
  await untilPending(hub, before + events.length);
  await hub.advance(WITHIN_MS);
  for (const result of await appending) expect(result).toMatchObject({ outcome: "stored" });
}

const createEvents = (count: number) => Array.from({ length: count }, (_, n) => createEvent(n));

test("stores the runs together with the event if its filter is evaluated in time", async () => {
  await publishFilter();
  const hub = startHub();
  const event = createEvent();
  const appending = hub.append(appendRequest([event]));
  await untilPending(hub);
  await hub.advance(WITHIN_MS - 1);
  hub.pending[0]?.end(holds);
  await appending;
  expect(await statusOf(event)).toBe("pending");
  expect(await countRuns()).toBe(1);
  expect(await store.nextMatchingDue()).toBeNull();
});

test("stores an event whose filter takes longer, and its runs when the filter is evaluated", async () => {
  await publishFilter();
  const hub = startHub();
  const event = createEvent();
  await appendLate(hub, event);
  expect(await statusOf(event)).toBe("matching");
  expect(await countRuns()).toBe(0);
  hub.pending[0]?.end(holds);
  await hub.advance(0);
  expect(await statusOf(event)).toBe("pending");
  expect(await countRuns()).toBe(1);
  // The filter was evaluated once.
  expect(hub.pending).toHaveLength(1);
  expect(hub.matching.countActive()).toBe(0);
});

test("matches an event without a match after it was stored", async () => {
  await publishFilter();
  const hub = startHub();
  const event = createEvent();
  await appendLate(hub, event);
  hub.pending[0]?.end({ log: [], output: [{ holds: false }] });
  await hub.advance(0);
  expect(await statusOf(event)).toBeNull();
  expect(await store.listVerdicts(TENANT, event.id)).toMatchObject([{ matched: false }]);
});

test("compares an event with the new version of a trigger, but not with new triggers", async () => {
  const flow = await publishFilter();
  const hub = startHub();
  const event = createEvent();
  await appendLate(hub, event);
  await publish(store, flow, { triggers: [eventTrigger({ config: { filter: "data.n > 0" } })] });
  await publishFilter("data.n > 5");
  hub.pending[0]?.end(holds);
  await untilPending(hub, 2);
  expect(await statusOf(event)).toBe("matching");
  expect(hub.pending[1]?.expressions).toEqual(["data.n > 0"]);
  hub.pending[1]?.end(holds);
  await hub.advance(0);
  expect(await store.listRuns({ tenant: TENANT, limit: 10 })).toMatchObject([{ version: 2 }]);
});

test("stores the result although another flow was published meanwhile", async () => {
  await publishFilter();
  const hub = startHub();
  const event = createEvent();
  await appendLate(hub, event);
  await publishFilter("data.n > 5");
  hub.pending[0]?.end(holds);
  await hub.advance(0);
  expect(await countRuns()).toBe(1);
  expect(hub.pending).toHaveLength(1);
});

test("keeps the claim of an event while its filter is evaluated", async () => {
  await publishFilter();
  const hub = startHub();
  const event = createEvent();
  await appendLate(hub, event);
  const other = startHub();
  for (let second = 0; second < 60; second += 1) {
    await hub.advance(1_000);
    await other.advance(1_000);
  }
  expect([hub.pending, other.pending].map(({ length }) => length)).toEqual([1, 0]);
  hub.pending[0]?.end(holds);
  await hub.advance(0);
  expect(await statusOf(event)).toBe("pending");
});

test("does not claim again and again while a tenant has as many events as allowed", async () => {
  await publishFilter();
  const dead = startHub();
  await appendLate(dead, ...createEvents(40));
  let claims = 0;
  const hub = startHub({
    at: START + 31_000,
    hubStore: {
      ...store,
      claimMatching(claim) {
        claims += 1;
        return store.claimMatching(claim);
      },
    },
  });
  await untilPending(hub, 32);
  claims = 0;
  for (let part = 0; part < 50; part += 1) await hub.advance(10);
  expect(claims).toBeLessThan(3);
  for (const { end } of hub.pending) end(holds);
  await untilPending(hub, 40);
  for (const { end } of hub.pending) end(holds);
  await vi.waitFor(
    async () => {
      await hub.advance(0);
      expect(await store.countMatching(100)).toBe(0);
    },
    { timeout: 20_000 },
  );
});

test("decides each filter as soon as it is evaluated", async () => {
  const slow = await publishFilter("data.n > 1");
  const fast = await publishFilter("data.n > 0");
  const hub = startHub();
  const event = createEvent();
  const appending = hub.append(appendRequest([event]));
  await untilPending(hub, 2);
  hub.pending.find(({ expressions }) => expressions[0] === "data.n > 0")?.end(holds);
  await hub.advance(0);
  await hub.advance(WITHIN_MS);
  await appending;
  expect(await store.listRuns({ tenant: TENANT, limit: 10 })).toMatchObject([{ flow_id: fast.id }]);
  expect(await store.listDeferred(TENANT, event.id)).toMatchObject([{ flow_id: slow.id }]);
});

test.each(["held by its process", "claimed"])(
  "stores each filter's result when it is decided, for an event that is %s",
  async (which) => {
    const flows = [await publishFilter("data.n > 1"), await publishFilter("data.n > 2")];
    const third = await publishFilter("data.n > 3");
    const first = startHub();
    const event = createEvent(5);
    const appending = first.append(appendRequest([event]));
    await untilPending(first, 3);
    await first.advance(WITHIN_MS);
    await appending;
    let hub = first;
    if (which === "claimed") {
      await first.close();
      hub = startHub({ at: START + 1_000 });
      await untilPending(hub, 3);
    }
    const end = async (filter: string, result: EvaluationResult) => {
      hub.pending.find(({ expressions }) => expressions[0] === filter)?.end(result);
      await hub.advance(0);
    };
    await end("data.n > 2", holds);
    const runs = () => store.listRuns({ tenant: TENANT, limit: 10 });
    expect(await runs()).toMatchObject([{ flow_id: flows[1]?.id }]);
    expect(await statusOf(event)).toBe("pending");
    expect(await store.listDeferred(TENANT, event.id)).toMatchObject([
      { flow_id: flows[0]?.id },
      { flow_id: third.id },
    ]);
    // The triggers change before the next result: only those without a result are compared again.
    await publish(store, third, { triggers: [eventTrigger({ config: { filter: "data.n > 4" } })] });
    await end("data.n > 3", holds);
    await vi.waitFor(
      async () => {
        await hub.advance(0);
        expect(hub.pending.filter(({ isAborted }) => !isAborted).at(-1)?.expressions).toEqual([
          "data.n > 4",
        ]);
      },
      { timeout: 20_000 },
    );
    for (const { end } of hub.pending) end(holds);
    await hub.advance(0);
    expect((await runs()).map(({ flow_id }) => flow_id).toSorted()).toEqual(
      [...flows, third].map(({ id }) => id).toSorted(),
    );
    expect(await store.countMatching(10)).toBe(0);
    expect(hub.errors).toEqual([]);
  },
);

test("reports a filter that cannot be evaluated, and decides the others", async () => {
  await publishFilter("data.n > 1");
  const innocent = await publishFilter("data.n > 2");
  const hub = startHub();
  const event = createEvent();
  const appending = hub.append(appendRequest([event]));
  await untilPending(hub, 2);
  await hub.advance(WITHIN_MS);
  await appending;
  hub.pending[0]?.fail(new Error("the worker has crashed"));
  hub.pending[1]?.end(holds);
  await hub.advance(0);
  expect(await store.listRuns({ tenant: TENANT, limit: 10 })).toMatchObject([
    { flow_id: innocent.id },
  ]);
  expect(hub.errors).toMatchObject([{ message: "the worker has crashed" }]);
  await untilPending(hub, 3);
  hub.pending[2]?.end(holds);
  await hub.advance(0);
  expect(await countRuns()).toBe(2);
});

test("goes on comparing events of a flow, while another flow's filter is slow for many events", async () => {
  await publishFilter("data.n > 1");
  const innocent = await publish(store, await makeFlow(store), {
    triggers: [eventTrigger({ type: "other", config: { filter: "data.n > 2" } })],
  });
  const hub = startHub();
  await appendLate(hub, ...createEvents(400));
  const event = createEvent(3, { type: "other" });
  await appendLate(hub, event);
  expect(hub.pending.at(-1)).toMatchObject({ expressions: ["data.n > 2"], isAborted: false });
  hub.pending.at(-1)?.end(holds);
  await hub.advance(0);
  expect(await store.listRuns({ tenant: TENANT, limit: 10 })).toMatchObject([
    { flow_id: innocent.id },
  ]);
});

test("triggers without a filter fire immediately, also beside a filter that is slow or paused", async () => {
  const slow = await publishFilter();
  const innocent = await publish(store, await makeFlow(store), { triggers: [eventTrigger()] });
  const runsOf = async (flow: StoredFlow) =>
    (await store.listRuns({ tenant: TENANT, limit: 10, flow: flow.id })).length;
  const hub = startHub();
  const event = createEvent();
  await appendLate(hub, event);
  expect(await statusOf(event)).toBe("pending");
  expect([await runsOf(innocent), await runsOf(slow)]).toEqual([1, 0]);
  hub.pending[0]?.end(exceeds);
  await hub.advance(0);
  const other = createEvent();
  await hub.append(appendRequest([other]));
  expect([await runsOf(innocent), await runsOf(slow)]).toEqual([2, 0]);
  expect(await store.listDeferred(TENANT, other.id)).toMatchObject([{ flow_id: slow.id }]);
  await hub.advance(10_000);
  await untilPending(hub, 2);
  hub.pending[1]?.end(holds);
  await hub.advance(0);
  expect([await runsOf(innocent), await runsOf(slow)]).toEqual([2, 1]);
  expect(await store.listVerdicts(TENANT, other.id)).toMatchObject([
    { matched: true },
    { matched: true },
  ]);
});

test("matches an event of a process that has ended, after its claim", async () => {
  await publishFilter();
  const dead = startHub();
  const event = createEvent();
  await appendLate(dead, event);
  const hub = startHub({ at: START + 1_000 });
  await hub.advance(20_000);
  expect(hub.pending).toEqual([]);
  await hub.advance(10_000);
  await untilPending(hub);
  hub.pending[0]?.end(holds);
  await hub.advance(0);
  expect(await countRuns()).toBe(1);
  // The first process was only slow: its result is not stored again.
  dead.pending[0]?.end(holds);
  await dead.advance(0);
  expect(await countRuns()).toBe(1);
});

test("leaves the events of a process that stops to other processes, immediately", async () => {
  await publishFilter();
  const first = startHub();
  const event = createEvent();
  await appendLate(first, event);
  await first.close();
  expect(first.pending[0]?.isAborted).toBe(true);
  const second = startHub({ at: START + 1_000 });
  await untilPending(second);
  second.pending[0]?.end(holds);
  await second.advance(0);
  expect(await statusOf(event)).toBe("pending");
});

test("matches an event again if its result could not be stored", async () => {
  await publishFilter();
  let isDown = true;
  const hub = startHub({
    hubStore: {
      ...store,
      finishMatching: (finished) =>
        isDown ? Promise.reject(new Error("the disk is full")) : store.finishMatching(finished),
    },
  });
  const event = createEvent();
  await appendLate(hub, event);
  hub.pending[0]?.end(holds);
  await hub.advance(0);
  expect(hub.errors).toMatchObject([{ message: "the disk is full" }]);
  isDown = false;
  await hub.advance(30_000);
  await untilPending(hub, 2);
  hub.pending[1]?.end(holds);
  await hub.advance(0);
  expect(await countRuns()).toBe(1);
});

test("matches a bounded number of events at a time, and the others from the store", async () => {
  await publishFilter();
  const hub = startHub();
  const count = 400;
  await appendLate(hub, ...createEvents(count));
  // One flow may hold less than 64 MiB, of which each event counts at least 128 KiB.
  expect(hub.pending.filter(({ isAborted }) => !isAborted).length).toBeLessThan(count - 50);
  await vi.waitFor(
    async () => {
      for (const { end } of hub.pending) end(holds);
      await hub.advance(0);
      expect(await countRuns()).toBe(100); // the maximum of the list
      expect(await store.countMatching(count)).toBe(0);
    },
    { timeout: 20_000 },
  );
  expect(hub.errors).toEqual([]);
});

test("a filter that exceeds its limits delays other events, but does not prevent their match", async () => {
  await publishFilter();
  const hub = startHub();
  const [slow, fast] = [createEvent(1), createEvent(2)];
  const first = hub.append(appendRequest([slow]));
  await untilPending(hub);
  hub.pending[0]?.end(exceeds);
  await first;
  expect(await statusOf(slow)).toBeNull();
  await hub.append(appendRequest([fast]));
  expect(hub.pending).toHaveLength(1); // the filter is paused
  expect(await statusOf(fast)).toBe("matching");
  await hub.advance(10_000);
  await untilPending(hub, 2);
  hub.pending[1]?.end(holds);
  await hub.advance(0);
  expect(await statusOf(fast)).toBe("pending");
});

test("several events for which a filter exceeds its limits do not prevent the match of others", async () => {
  const flow = await publishFilter();
  const hub = startHub();
  const hostile = [0, 1, 2, 3].map((n) => createEvent(n));
  const normal = [5, 6, 7, 8, 9].map((n) => createEvent(n));
  const first = hub.append(appendRequest([hostile[0] as NewEvent]));
  await untilPending(hub);
  hub.pending[0]?.end(exceeds);
  await first;
  for (const event of [...hostile.slice(1), ...normal]) await hub.append(appendRequest([event]));
  let ended = 1;
  await vi.waitFor(
    async () => {
      for (; ended < hub.pending.length; ended += 1) {
        const { data, end } = hub.pending[ended] as Hub["pending"][number];
        end((data as { data: { n: number } }).data.n < 5 ? exceeds : holds);
        await hub.advance(0); // the first result pauses the filter
      }
      await hub.advance(10_000);
      for (const event of normal) expect(await statusOf(event)).toBe("pending");
      for (const event of hostile) expect(await statusOf(event)).toBeNull();
    },
    { timeout: 20_000 },
  );
  expect(await countRuns()).toBe(normal.length);
  expect(await store.listTrips(TENANT, [flow.id], 0)).toMatchObject([{ limit: "filter" }]);
});

test("a filter that always exceeds its limits is reported, and no event waits for it for ever", async () => {
  const flow = await publishFilter();
  const hub = startHub();
  const events = [createEvent(1), createEvent(2), createEvent(3)];
  const first = hub.append(appendRequest([events[0] as NewEvent]));
  await untilPending(hub);
  hub.pending[0]?.end(exceeds);
  expect(await first).toMatchObject({ tripped: [{ limit: "filter", max: 1, isFirst: true }] });
  await Promise.all(events.slice(1).map((event) => hub.append(appendRequest([event]))));
  await vi.waitFor(
    async () => {
      for (const { end } of hub.pending) end(exceeds);
      await hub.advance(10_000);
      for (const event of events) expect(await statusOf(event)).toBeNull();
    },
    { timeout: 20_000 },
  );
  expect(await countRuns()).toBe(0);
  expect(await store.listTrips(TENANT, [flow.id], 0)).toMatchObject([{ limit: "filter" }]);
  expect(hub.trips).not.toEqual([]);
});

test("waits for the filter on hosts where it blocks the event loop", async () => {
  await publishFilter();
  const hub = startHub({ isBlocking: true });
  const event = createEvent();
  const appending = hub.append(appendRequest([event]));
  await untilPending(hub);
  await hub.advance(60_000);
  hub.pending[0]?.end(holds);
  await appending;
  expect(await statusOf(event)).toBe("pending");
});
