import { expect, it } from "vitest";
import { createAwaitTools } from "./await-tools.ts";

/** A hub that answers so, one for each time it is asked. */
function setup(answers: boolean[]) {
  const stop = new AbortController();
  const waits: number[] = [];
  let told = 0;
  const miss = createAwaitTools({
    list: async () => {
      if (!answers.shift()) throw new Error("down");
    },
    onBack: async () => {
      told += 1;
    },
    signal: stop.signal,
    random: () => 0,
    wait: async (ms) => {
      waits.push(ms);
      if (answers.length === 0) stop.abort();
      stop.signal.throwIfAborted();
    },
  });
  return { miss, waits, told: () => told, signal: stop.signal };
}

it("asks ever more slowly, tells once for many misses, and is there for the next one", async () => {
  const { miss, waits, told } = setup([false, false, true, true]);
  miss();
  miss();
  await expect.poll(told).toBe(1);
  expect(waits).toEqual([125, 250, 500]);
  miss();
  await expect.poll(told).toBe(2);
  expect(waits).toEqual([125, 250, 500, 125]);
});

it("says nothing to a client that has gone", async () => {
  const { miss, waits, told, signal } = setup([false]);
  miss();
  await expect.poll(() => signal.aborted).toBe(true);
  expect([waits, told()]).toEqual([[125, 250], 0]);
});
