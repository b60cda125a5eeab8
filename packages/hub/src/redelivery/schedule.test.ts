/** Tests sweeps with a real store, a manual clock and a fake GitHub. */
import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { sampleEvent } from "../events/store/contract/sample.ts";
import type { GithubAnswer } from "../github/github-request.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { createTestTimers } from "../kernel/lib/test-timers.ts";
import { storeDefinition } from "../store.ts";
import type { GithubDeliveries, GithubDelivery } from "./github-deliveries.ts";
import { type RedeliveryOptions, scheduleRedelivery } from "./schedule.ts";

const START = Date.UTC(2026, 0, 5);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const PAGE_SIZE = 2;

function setUp(options: Partial<RedeliveryOptions> = {}) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  const timers = createTestTimers(START);
  const attempts: GithubDelivery[] = [];
  /** The guids of the requested redeliveries, and the cursors of the pages that were read. */
  const requested: string[] = [];
  const pages: (string | undefined)[] = [];
  const counts: Record<string, number> = {};
  const warnings: unknown[] = [];
  /** The errors of the next requests to GitHub, in order; undefined: the request succeeds. */
  const failures = { next: [] as (Exclude<GithubAnswer<never>, { outcome: "ok" }> | undefined)[] };

  /** Adds an attempt, by default a failed one, to GitHub's list. */
  const addAttempt = (guid: string, fields: Partial<GithubDelivery> = {}) =>
    attempts.push({
      id: `${attempts.length + 1}`,
      guid,
      deliveredAt: timers.now(),
      isRedelivery: false,
      status: "Service Unavailable",
      statusCode: 503,
      event: "issues",
      action: "opened",
      installation: null,
      ...fields,
    });
  /** Whether redeliveries succeed. */
  const hub = { isUp: true };
  const deliveries: GithubDeliveries = {
    async list(cursor) {
      pages.push(cursor);
      const failure = failures.next.shift();
      if (failure) return failure;
      const all = attempts.toReversed();
      const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor);
      const next = all[from + PAGE_SIZE]?.id ?? null;
      return { outcome: "ok", value: all.slice(from, from + PAGE_SIZE), next };
    },
    async redeliver(id) {
      const failure = failures.next.shift();
      if (failure) return failure;
      const { guid = "" } = attempts.find((attempt) => attempt.id === id) ?? {};
      requested.push(guid);
      addAttempt(guid, { isRedelivery: true, ...(hub.isUp && { status: "OK", statusCode: 200 }) });
      return { outcome: "ok", value: undefined, next: null };
    },
  };
  const start = (overrides: Partial<RedeliveryOptions> = {}) => {
    const schedule = scheduleRedelivery({
      store,
      deliveries,
      tenant: "local",
      by: "a",
      everyMs: 5 * MINUTE,
      timers,
      log: { info() {}, warn: (...args) => warnings.push(args), error: unexpected },
      onCounted(outcome, count) {
        counts[outcome] = (counts[outcome] ?? 0) + count;
      },
      ...options,
      ...overrides,
    });
    return schedule;
  };
  onTestFinished(() => store.close());
  /** Waits until no sweep is in progress: then each process has one timer. */
  const idle = (processes = 1) =>
    expect.poll(() => timers.pending(), { interval: 5 }).toBe(processes);
  /** Moves the clock, in steps that are not longer than the lease of a sweep. */
  const advance = async (ms: number) => {
    for (let left = ms; left > 0; left -= MINUTE) {
      timers.advance(Math.min(MINUTE, left));
      await idle();
    }
  };
  const states = async () => {
    const { open, given_up, delivered } = await store.countRedeliveries(100);
    return [open, given_up, delivered];
  };
  return {
    store,
    timers,
    addAttempt,
    hub,
    requested,
    pages,
    counts,
    warnings,
    failures,
    start,
    idle,
    advance,
    states,
  };
}

const unexpected = (...args: unknown[]) => {
  throw new Error(`unexpected: ${JSON.stringify(args)}`);
};

describe("a sweep", () => {
  it("requests the webhooks that no attempt has delivered, oldest first, and records their delivery", async () => {
    const { addAttempt, start, idle, advance, requested, states, counts, timers } = setUp();
    addAttempt("first");
    addAttempt("fine", { statusCode: 202, status: "OK" });
    timers.advance(1);
    addAttempt("second");
    addAttempt("by hand");
    addAttempt("by hand", { isRedelivery: true, statusCode: 200, status: "OK" });
    const schedule = start();
    await idle();
    expect(requested).toEqual(["first", "second"]);
    expect(await states()).toEqual([2, 0, 1]);
    await advance(MINUTE);
    expect(requested).toHaveLength(2);
    expect(await states()).toEqual([0, 0, 3]);
    expect(counts).toEqual({ failed: 2, requested: 2, delivered: 2, given_up: 0 });
    await schedule.close();
    expect(timers.pending()).toBe(0);
  });

  it.each([
    ["local", null],
    [undefined, "7"],
  ])(
    "does not request a webhook that the hub has stored (tenant %s, installation %s)",
    async (tenant, installation) => {
      const { addAttempt, start, idle, requested, states, store } = setUp({ tenant });
      const owner = tenant ?? "acme";
      await store.putTenant({ id: owner, at: START });
      if (installation !== null)
        await store.putInstallation(
          {
            id: installation,
            tenant: owner,
            account: "acme",
            version: 1,
            change: null,
            suspended_at: null,
          },
          START,
        );
      const event = sampleEvent({ source_id: "github", external_id: "timed out" });
      await store.appendEvents([{ tenant: owner, events: [event] }], null);
      addAttempt("timed out", { status: "timed out", statusCode: 0, installation });
      addAttempt("lost", { installation });
      addAttempt("of another installation", { installation: "8" });
      start();
      await idle();
      expect(requested).toEqual(["lost", "of another installation"]);
      expect(await states()).toEqual([2, 0, 1]);
    },
  );

  it("requests a webhook at most five times, with growing delays, then gives up", async () => {
    const { addAttempt, start, idle, advance, requested, states, store, hub, timers } = setUp();
    hub.isUp = false;
    addAttempt("one");
    start();
    await idle();
    expect(requested).toHaveLength(1);
    for (const [index, minutes] of [15, 60, 240, 960].entries()) {
      timers.stepClock((minutes - 13) * MINUTE);
      await advance(5 * MINUTE);
      expect(requested).toHaveLength(index + 1);
      await advance(14 * MINUTE);
      expect(requested).toHaveLength(index + 2);
    }
    await advance(20 * MINUTE);
    expect(requested).toHaveLength(5);
    expect(await states()).toEqual([0, 1, 0]);
    expect(await store.listRedeliveries("given_up", 1)).toMatchObject([
      { status_code: 503, note: "It failed again after 5 redeliveries." },
    ]);
  });

  it("ignores webhooks older than three days, and gives up those that GitHub no longer has", async () => {
    const { addAttempt, start, idle, requested, states, failures, store } = setUp();
    addAttempt("old", { deliveredAt: START - 73 * HOUR });
    addAttempt("lost", { deliveredAt: START - 71 * HOUR });
    failures.next = [undefined, { outcome: "not_found" }];
    start();
    await idle();
    expect(requested).toEqual([]);
    expect(await states()).toEqual([0, 1, 0]);
    expect(await store.listRedeliveries("given_up", 1)).toMatchObject([
      { guid: "lost", note: "GitHub no longer has this webhook." },
    ]);
  });

  it("stops at a rate limit, and continues with the same page when the limit ends", async () => {
    const { addAttempt, start, idle, advance, pages, failures, requested, store } = setUp();
    for (const guid of ["1", "2", "3", "4", "5"]) addAttempt(guid);
    const limit = { outcome: "rate_limited" as const, message: "GitHub returned 403: slow down" };
    failures.next = [undefined, { ...limit, retryAt: START + 30 * MINUTE }];
    const first = start();
    await idle();
    expect(pages).toEqual([undefined, "3"]);
    expect(await store.getRedeliverySweep()).toMatchObject({
      error: limit.message,
      completed_at: null,
    });
    // A restart does not end the pause.
    await first.close();
    start();
    await idle();
    await advance(29 * MINUTE);
    expect(pages).toHaveLength(2);
    await advance(MINUTE);
    expect(pages).toEqual([undefined, "3", "3", "1"]);
    expect(requested).toEqual(["1", "2", "3", "4", "5"]);
    expect(await store.getRedeliverySweep()).toMatchObject({ error: null, cursor: null });
  });

  it("starts again with the first page if GitHub rejects the cursor of an interrupted sweep", async () => {
    const { addAttempt, start, idle, pages, failures, store, advance } = setUp();
    for (const guid of ["1", "2", "3"]) addAttempt(guid, { statusCode: 200 });
    const down = { outcome: "failed" as const, status: 502, message: "GitHub returned 502" };
    failures.next = [undefined, down];
    start();
    await idle();
    failures.next = [{ outcome: "failed", status: 422, message: "Invalid cursor" }];
    await advance(5 * MINUTE);
    expect(pages).toEqual([undefined, "1", "1", undefined, "1"]);
    expect(await store.getRedeliverySweep()).toMatchObject({ error: null, read_until: START });
  });

  it("reads only the attempts since the last sweep", async () => {
    const { addAttempt, start, idle, advance, pages, timers } = setUp();
    for (const guid of ["1", "2", "3", "4"]) addAttempt(guid, { statusCode: 200 });
    start();
    await idle();
    expect(pages).toEqual([undefined, "2"]);
    timers.stepClock(HOUR);
    for (const guid of ["5", "6", "7"]) addAttempt(guid, { statusCode: 200 });
    await advance(5 * MINUTE);
    pages.length = 0;
    timers.stepClock(HOUR);
    addAttempt("8", { statusCode: 200 });
    await advance(5 * MINUTE);
    // It stops at the page with attempt 4, which is older than the overlap of ten minutes.
    expect(pages).toEqual([undefined, "6", "4"]);
    timers.stepClock(HOUR);
    await advance(5 * MINUTE);
    expect(pages.slice(3)).toEqual([undefined]);
  });

  it("stores GitHub's message with the fix, and logs it once", async () => {
    const { start, idle, advance, failures, store, warnings } = setUp();
    const message = "GitHub returned 401: A JSON web token could not be decoded";
    const rejected = { outcome: "failed" as const, status: 401, message };
    failures.next = [rejected, rejected];
    start();
    await idle();
    await advance(5 * MINUTE);
    expect((await store.getRedeliverySweep())?.error).toBe(
      `${message}. Check GITHUB_APP_ID, GITHUB_APP_PRIVATE_KEY and the clock of the hub.`,
    );
    expect(warnings).toHaveLength(1);
    await advance(5 * MINUTE);
    expect((await store.getRedeliverySweep())?.error).toBeNull();
  });
});

it("sweeps in one of several processes, and in another one after a crash", async () => {
  const { start, idle, pages, timers, store } = setUp();
  const first = start({ by: "a" });
  start({ by: "b" });
  await idle(2);
  expect(pages).toHaveLength(1);
  await first.close();
  // A process has acquired the lease and crashed.
  await store.requestRedeliverySweep(timers.now());
  await store.leaseRedeliverySweep({
    by: "dead",
    now: timers.now(),
    until: timers.now() + 6 * MINUTE,
  });
  timers.advance(5 * MINUTE);
  await idle();
  expect(pages).toHaveLength(1);
  timers.advance(MINUTE);
  await idle();
  expect(pages).toHaveLength(2);
});

it("requests a redelivery immediately when a user retries it", async () => {
  const { store, timers, addAttempt, hub, start, idle, advance, requested, states } = setUp();
  hub.isUp = false;
  addAttempt("one");
  const schedule = start();
  await idle();
  await advance(24 * HOUR);
  expect([requested.length, await states()]).toEqual([5, [0, 1, 0]]);
  hub.isUp = true;
  expect(await store.retryRedelivery("one", timers.now(), 0)).toMatchObject({ requests: 0 });
  // The second call finds no sweep that is due.
  schedule.wake();
  schedule.wake();
  await expect.poll(() => requested.length).toBe(6);
  await idle();
  await advance(2 * MINUTE);
  expect([requested.length, await states()]).toEqual([6, [0, 0, 1]]);
  await schedule.close();
  schedule.wake();
  expect(timers.pending()).toBe(0);
});
