import { expect, it } from "vitest";
import { createPacedSteps } from "./paced-steps.ts";

/** Steps that take `fixedMs` and `rowMs` for each row, on a clock that only they and pauses advance. */
async function run({
  fixedMs = 0,
  rowMs = 0,
  count = 10_000,
  stopAfter = Number.POSITIVE_INFINITY,
}) {
  let now = 0;
  let busyMs = 0;
  let left = count;
  const sizes: number[] = [];
  const steps = createPacedSteps({
    timers: {
      monotonic: () => now,
      defer: (work) => queueMicrotask(work),
      after(ms, work) {
        now += ms;
        queueMicrotask(work);
        return () => {};
      },
    },
    isStopped: () => sizes.length >= stopAfter,
  });
  await steps.repeat(async (rows) => {
    sizes.push(rows);
    const ms = fixedMs + rowMs * Math.min(rows, left);
    now += ms;
    busyMs += ms;
    left -= rows;
    return left > 0;
  });
  return { now, busyMs, sizes, left };
}

it("begins with few rows, and adapts their number to about 2 ms", async () => {
  const { sizes } = await run({ rowMs: 0.1 });
  expect(sizes[0]).toBe(5);
  for (const rows of sizes.slice(10)) expect(rows * 0.1).toBeLessThanOrEqual(3);
  expect(sizes.at(-1)).toBeGreaterThan(15);
});

it("works on single rows if each is expensive, and on at most 500", async () => {
  expect((await run({ rowMs: 50, count: 100 })).sizes.slice(3)).toContain(1);
  expect(Math.max(...(await run({})).sizes)).toBe(500);
});

it("does not count the fixed cost of a transaction, so that a slow disk does not stop the work", async () => {
  const { sizes, now } = await run({ fixedMs: 30, rowMs: 0.1 });
  expect(sizes.at(-1)).toBeGreaterThan(20);
  expect(10_000 / (now / 3_600_000)).toBeGreaterThan(300_000); // rows per hour
});

it("pauses for nineteen times as long as it works", async () => {
  const { busyMs, now } = await run({ fixedMs: 2, rowMs: 0.1 });
  expect(busyMs / now).toBeCloseTo(0.05, 5);
});

it("ends when it is stopped", async () => {
  expect((await run({ stopAfter: 3 })).sizes).toHaveLength(3);
});
