import { expect, test } from "vitest";
import { startDeadline } from "./deadline.ts";

/** Starts a deadline. `fire` lets its current timer expire; `share` of that time is CPU time. */
function startWithShare(share: number | undefined) {
  let timer: { ms: number; work: () => void } | undefined;
  let passedMs = 0;
  let isExpired = false;
  const cancel = startDeadline({
    limitMs: 1000,
    after(ms, work) {
      timer = { ms, work };
      return () => {
        timer = undefined;
      };
    },
    cpuMs: () => (share === undefined ? undefined : 5_000 + passedMs * share),
    onExpire() {
      isExpired = true;
    },
  });
  const fire = () => {
    const fired = timer;
    timer = undefined;
    passedMs += fired?.ms ?? 0;
    fired?.work();
    return timer !== undefined;
  };
  return { fire, cancel, passedMs: () => passedMs, isExpired: () => isExpired };
}

test.each([
  ["a worker that always computes", 1, 1000],
  ["a worker whose CPU time is not measured", undefined, 1000],
  // The first 100 ms are not measured and count in full.
  ["a worker that gets half of the CPU time", 0.5, 1988],
  ["a worker that gets no CPU time", 0, 10_000],
])("expires for %s, after the limit in CPU time", (_, share, expectedMs) => {
  const deadline = startWithShare(share);
  while (deadline.fire());
  expect(deadline.isExpired()).toBe(true);
  expect(Math.round(deadline.passedMs())).toBe(expectedMs);
});

test("does not expire after it was cancelled", () => {
  const deadline = startWithShare(0.5);
  deadline.fire();
  deadline.fire();
  deadline.cancel();
  expect(deadline.fire()).toBe(false);
  expect(deadline.isExpired()).toBe(false);
});
