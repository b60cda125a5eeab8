import { expect, vi } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import type { It } from "../../kernel/store/contract/subject.ts";
import type { Store } from "../../store.ts";
import { allEvents, appendEvents, DAY, START, sampleEvents } from "../store/contract/sample.ts";
import { startSweeper } from "./sweeper.ts";

const HOUR = DAY / 24;

/** A hub with its own clocks, whose sweeper runs every hour. */
async function startHub(store: Store, time: number) {
  const timers = { ...createTestTimers(time), defer: (work: () => void) => void setTimeout(work) };
  const warnings: object[] = [];
  let reads = 0;
  const stop = startSweeper({
    store: new Proxy(store, {
      get(target, name) {
        // The proxy of a Durable Object has a method for every name.
        if (name === "file") return undefined;
        if (name === "observeClock") reads += 1;
        return Reflect.get(target, name);
      },
    }),
    retention: { processedFor: 3 * DAY, pendingFor: 90 * DAY, maxBytes: 1e12 },
    keepRunsMs: 30 * DAY,
    everyMs: HOUR,
    random: () => 0.5,
    onSwept() {},
    log: { warn: (facts) => warnings.push(facts), error: (facts) => warnings.push(facts) },
    timers,
  });
  await vi.waitFor(async () => expect(await store.getClock()).toBeDefined());
  return {
    timers,
    warnings,
    stop,
    /** Appends events that the wall clock stamps. */
    append: (count: number) =>
      appendEvents(
        store,
        sampleEvents(count, () => ({ received_at: timers.now() })),
      ),
    async run(ms: number) {
      for (let end = timers.monotonic() + ms; timers.monotonic() < end; ) {
        const before = reads;
        timers.advance(HOUR);
        // The sweep has ended when it has set the timer of the next one.
        await vi.waitFor(() => {
          expect(reads).toBe(before + 1);
          expect(timers.pending()).toBe(1);
        });
      }
    },
  };
}

const count = async (store: Store) => (await allEvents(store)).length;

export function retentionClockContract(it: It): void {
  it("keeps the events of a new database when the clock steps forward before the first sweep", async ({
    store,
    reopen,
  }) => {
    const first = await startHub(store, START);
    await first.append(20);
    first.stop();
    const reopened = await reopen();
    const hub = await startHub(reopened, START + 60_000);
    await hub.append(20);
    hub.timers.stepClock(400 * DAY);
    await hub.run(30 * HOUR);
    expect(await count(reopened)).toBe(40);
    expect(hub.warnings).toEqual([{ days: 400 }]);
    expect(await reopened.getClock()).toMatchObject({ now: hub.timers.now() });
    expect(await reopened.getClock()).not.toHaveProperty("pending");
    hub.stop();
  });

  it("keeps the events of a hub that started in 1970, until it has observed their retention time", async ({
    store,
  }) => {
    const hub = await startHub(store, 60_000);
    await hub.append(20);
    hub.timers.stepClock(START);
    await hub.run(2 * HOUR);
    expect(await count(store)).toBe(20);
    await hub.run(28 * HOUR);
    await hub.append(1);
    expect(await count(store)).toBe(21);
    hub.stop();
    const { clock, retention } = { clock: await store.getClock(), retention: { processedFor: 0 } };
    const sweepAfter = (ms: number) =>
      store.sweep({
        ...{ now: hub.timers.now() + ms, ranges: clock?.ranges ?? [], ...retention },
        ...{ pendingFor: 90 * DAY, maxBytes: 1e12, limit: 100 },
      });
    expect(await sweepAfter(90 * DAY - 31 * HOUR)).toMatchObject({ expired: 0 });
    expect(await sweepAfter(90 * DAY - 29 * HOUR)).toMatchObject({ expired: 20 });
    expect(await sweepAfter(90 * DAY + 1)).toMatchObject({ expired: 1 });
  });

  it("keeps the events that a hub with a clock in the past receives", async ({ store, reopen }) => {
    const first = await startHub(store, START);
    await first.run(HOUR);
    first.stop();
    const reopened = await reopen();
    const hub = await startHub(reopened, 60_000);
    await hub.append(20);
    hub.timers.stepClock(START + HOUR);
    await hub.run(2 * HOUR);
    expect(await count(reopened)).toBe(20);
    expect(await reopened.getClock()).not.toHaveProperty("pending");
    hub.stop();
  });

  it("keeps processed events when the clock steps, and removes them after their retention time", async ({
    store,
  }) => {
    const hub = await startHub(store, START);
    await hub.append(2);
    const [event] = await allEvents(store);
    await store.markProcessed("acme", [event?.id ?? ""], hub.timers.now(), null);
    hub.timers.stepClock(10 * DAY);
    await hub.run(3 * DAY - HOUR);
    expect(await count(store)).toBe(2);
    await hub.run(HOUR);
    expect(await count(store)).toBe(1);
    hub.stop();
  });

  it("keeps the events when one of two replicas has a wrong clock", async ({ store, reopen }) => {
    const right = await startHub(store, START);
    await right.append(20);
    const other = await reopen();
    const ahead = await startHub(other, START + 400 * DAY);
    await ahead.append(5);
    const behind = await startHub(other, START - 400 * DAY);
    await behind.append(5);
    for (let hours = 0; hours < 30; hours += 1)
      for (const hub of [ahead, right, behind]) await hub.run(HOUR);
    expect(await count(store)).toBe(30);
    await ahead.run(HOUR);
    // The wrong clocks are not believed, because a hub confirms the time.
    expect(await store.getClock()).toMatchObject({ now: START + 31 * HOUR, steps: 0 });
    for (const hub of [ahead, right, behind]) hub.stop();
  });

  it("compares the clock with the newest event of a database without a clock", async ({
    store,
  }) => {
    await appendEvents(
      store,
      sampleEvents(20, () => ({ received_at: START })),
    );
    const hub = await startHub(store, START + 400 * DAY);
    await hub.run(2 * HOUR);
    expect(await count(store)).toBe(20);
    expect(hub.warnings).toEqual([{ days: 400 }]);
    hub.stop();
  });

  it("ages events by the time of the clock, also if their ids are ahead of it", async ({
    store,
  }) => {
    const [late] = sampleEvents(1, () => ({ received_at: START + 50 * DAY }));
    // The id has the time of the clock before it was set back.
    const [{ id }] = sampleEvents(1, () => ({ received_at: START }));
    await appendEvents(store, [{ ...late, id }]);
    const retention = { processedFor: 0, pendingFor: 90 * DAY, maxBytes: 1e12, limit: 9 };
    expect(await store.sweep({ now: START + 91 * DAY, ...retention })).toMatchObject({
      expired: 0,
    });
    expect(await store.sweep({ now: START + 141 * DAY, ...retention })).toMatchObject({
      expired: 1,
    });
  });

  it("believes a step when it is accepted", async ({ store }) => {
    expect(await store.acceptClock(START)).toBeUndefined();
    const hub = await startHub(store, 60_000);
    await hub.append(20);
    hub.timers.stepClock(START);
    await hub.run(HOUR);
    expect(await store.getClock()).toMatchObject({ pending: expect.anything() });
    const accepted = await store.acceptClock(hub.timers.now());
    expect(accepted).toMatchObject({ now: hub.timers.now() });
    expect(accepted).not.toHaveProperty("pending");
    await hub.run(HOUR);
    expect(await store.getClock()).toMatchObject({ now: hub.timers.now(), steps: 1 });
    expect(await count(store)).toBe(20);
    hub.stop();
  });
}
