import { expect, test } from "vitest";
import { instant } from "../../kernel/lib/elapsed.ts";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { createLeases } from "./leases.ts";

function open() {
  const timers = createTestTimers(1_000_000);
  const state = { held: ["a", "b"], renewals: 0 };
  const leases = createLeases({
    store: {
      async renewRuns(_, runs) {
        state.renewals += 1;
        return { cancelRequested: [], renewed: runs.filter((run) => state.held.includes(run)) };
      },
    },
    timers,
    worker: "w",
    leaseMs: 1_000,
  });
  leases.begin("a", instant(timers));
  return { timers, state, leases };
}

test("does not renew a fresh lease", async () => {
  const { timers, state, leases } = open();
  timers.advance(700);
  expect(await leases.ensureFresh("a")).toBe(true);
  expect(state.renewals).toBe(0);
});

test("renews an old lease, and detects that another worker has claimed the run", async () => {
  const { timers, state, leases } = open();
  timers.advance(5_000); // the process was paused
  expect(leases.isFresh("a")).toBe(false);
  expect(await leases.ensureFresh("a")).toBe(true);
  expect([leases.isFresh("a"), state.renewals]).toEqual([true, 1]);
  timers.advance(5_000);
  state.held = [];
  expect(await leases.ensureFresh("a")).toBe(false);
});

test("does not renew the lease of a run that has ended here", async () => {
  const { state, leases } = open();
  leases.end("a");
  expect(await leases.ensureFresh("a")).toBe(false);
  expect(state.renewals).toBe(0);
});

test("counts the time while the machine slept, and ignores a clock that is set back", () => {
  const { timers, leases } = open();
  timers.stepClock(5_000); // only the wall clock advances while the machine sleeps
  expect(leases.isFresh("a")).toBe(false);
  leases.begin("a", instant(timers));
  timers.stepClock(-3_600_000);
  timers.advance(900);
  expect(leases.isFresh("a")).toBe(false);
});

test("counts the age of a lease from the request of the claim, not from its result", async () => {
  const { timers, leases } = open();
  const leaseStart = instant(timers);
  timers.advance(2_000);
  leases.begin("b", leaseStart);
  expect(leases.isFresh("b")).toBe(false);
  leases.end("b");
  await leases.renew(["a", "b"]);
  expect([leases.isFresh("a"), leases.isFresh("b")]).toEqual([true, false]);
});
