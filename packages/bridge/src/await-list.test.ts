import { expect, it } from "vitest";
import { createAwaitList } from "./await-list.ts";

/** A hub that succeeds or fails as given, one value per request. */
function setup(responses: boolean[]) {
  const stop = new AbortController();
  const waits: number[] = [];
  let notified = 0;
  const onFailure = createAwaitList({
    list: async () => {
      if (!responses.shift()) throw new Error("down");
    },
    onAvailable: async () => {
      notified += 1;
    },
    signal: stop.signal,
    random: () => 0,
    wait: async (ms) => {
      waits.push(ms);
      if (responses.length === 0) stop.abort();
      stop.signal.throwIfAborted();
    },
  });
  return { onFailure, waits, notified: () => notified, signal: stop.signal };
}

it("backs off, notifies once for several failures, and again after the next failure", async () => {
  const { onFailure, waits, notified } = setup([false, false, true, true]);
  onFailure();
  onFailure();
  await expect.poll(notified).toBe(1);
  expect(waits).toEqual([125, 250, 500]);
  onFailure();
  await expect.poll(notified).toBe(2);
  expect(waits).toEqual([125, 250, 500, 125]);
});

it("does not notify a disconnected client", async () => {
  const { onFailure, waits, notified, signal } = setup([false]);
  onFailure();
  await expect.poll(() => signal.aborted).toBe(true);
  expect([waits, notified()]).toEqual([[125, 250], 0]);
});
