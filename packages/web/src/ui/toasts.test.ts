import { expect, it } from "vitest";
import { createToasts } from "./toasts.ts";

function setup() {
  const scheduled = new Map<() => void, number>();
  const toasts = createToasts({
    schedule(task, ms) {
      scheduled.set(task, ms);
      return () => void scheduled.delete(task);
    },
  });
  return { toasts, scheduled, titles: () => toasts.list().map(({ title }) => title) };
}

it("removes messages after some time, but not errors", () => {
  const { toasts, scheduled, titles } = setup();
  toasts.add({ title: "done" });
  toasts.add({ title: "broken", aspect: "red" });
  for (const task of scheduled.keys()) task();
  expect(titles()).toEqual(["broken"]);
});

it("shows a message with an undo longer than others", () => {
  const { toasts, scheduled } = setup();
  toasts.add({ title: "a" });
  toasts.add({ title: "b", undo: () => {} });
  const [first = 0, second = 0] = scheduled.values();
  expect(second).toBeGreaterThan(first);
});

it("shows only the four newest messages", () => {
  const { toasts, titles } = setup();
  for (const title of "abcdef") toasts.add({ title });
  expect(titles()).toEqual(["c", "d", "e", "f"]);
});
