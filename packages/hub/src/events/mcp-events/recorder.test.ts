import { expect, it } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import { createRecorder } from "./deliverer.ts";
import type { DeliveryProgress } from "./model.ts";

const progress = (id: string, attempt = 0): DeliveryProgress => ({
  id,
  positions: {},
  gap: false,
  attempt,
  failing_since: null,
  next_at: 0,
  last_error: null,
  delivered_at: null,
});

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

function setup(leased = ["a", "b"]) {
  const timers = createTestTimers();
  const saved: string[] = [];
  const recorder = createRecorder({
    by: "this process",
    after: timers.after,
    store: {
      async recordProgress(_, batch) {
        saved.push(batch.map(({ id, attempt }) => `${id}${attempt}`).join());
        if (batch.some(({ id }) => id === "bad")) throw new Error("disk full");
        return batch.map(({ id }) => id).filter((id) => leased.includes(id));
      },
    },
  });
  return { timers, saved, recorder };
}

it("saves the first progress immediately, and saves later ones together after the pause", async () => {
  const { timers, saved, recorder } = setup();
  expect(await recorder.record(progress("a", 1))).toBe(true);
  const later = [progress("a", 2), progress("b", 1), progress("a", 3)].map(recorder.record);
  await settle();
  expect(saved).toEqual(["a1"]);
  timers.advance(20);
  expect(await Promise.all(later)).toEqual([true, true, true]);
  expect(saved).toEqual(["a1", "a3,b1"]);
});

it("resolves with false if another process has leased the subscription", async () => {
  const { recorder } = setup(["a"]);
  expect(await recorder.record(progress("b"))).toBe(false);
});

it("rejects if the store fails, and saves the next progress", async () => {
  const { timers, recorder } = setup();
  await expect(recorder.record(progress("bad"))).rejects.toThrow("disk full");
  const next = recorder.record(progress("a"));
  timers.advance(20);
  expect(await next).toBe(true);
});

it("saves a copy of the progress", async () => {
  const { timers, saved, recorder } = setup();
  await recorder.record(progress("b"));
  const original = progress("a", 1);
  const saving = recorder.record(original);
  original.attempt = 9;
  timers.advance(20);
  await saving;
  expect(saved).toEqual(["b0", "a1"]);
});

it("ends the pause and disables further pauses on shutdown", async () => {
  const { timers, saved, recorder } = setup();
  await recorder.record(progress("a", 1));
  const waiting = recorder.record(progress("a", 2));
  recorder.skipPauses();
  await waiting;
  await recorder.record(progress("a", 3));
  expect(saved).toEqual(["a1", "a2", "a3"]);
  expect(timers.pending()).toBe(0);
});
