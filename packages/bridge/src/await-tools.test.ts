import { expect, it } from "vitest";
import { createAwaitTools } from "./await-tools.ts";

/** A hub with the given responses, one per request. */
function setup(answers: boolean[]) {
  const stop = new AbortController();
  const waits: number[] = [];
  let notified = 0;
  const miss = createAwaitTools({
    list: async () => {
      if (!answers.shift()) throw new Error("down");
    },
    onBack: async () => {
      notified += 1;
    },
    signal: stop.signal,
    random: () => 0,
    wait: async (ms) => {
      waits.push(ms);
      if (answers.length === 0) stop.abort();
      stop.signal.throwIfAborted();
    },
  });
  return { miss, waits, notified: () => notified, signal: stop.signal };
}

it("backs off, notifies once for several failures, and can be used again", async () => {
  const { miss, waits, notified } = setup([false, false, true, true]);
  miss();
  miss();
  await expect.poll(notified).toBe(1);
  expect(waits).toEqual([125, 250, 500]);
  miss();
  await expect.poll(notified).toBe(2);
  expect(waits).toEqual([125, 250, 500, 125]);
});

it("does not notify a disconnected client", async () => {
  const { miss, waits, notified, signal } = setup([false]);
  miss();
  await expect.poll(() => signal.aborted).toBe(true);
  expect([waits, notified()]).toEqual([[125, 250], 0]);
});
