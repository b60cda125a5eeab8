import { expect, it } from "vitest";
import { createToasts } from "./toasts.ts";

function setup() {
  const planned = new Map<() => void, number>();
  const toasts = createToasts({
    schedule(task, ms) {
      planned.set(task, ms);
      return () => void planned.delete(task);
    },
  });
  return { toasts, planned, titles: () => toasts.list().map(({ title }) => title) };
}

it("removes messages after a while, but not errors", () => {
  const { toasts, planned, titles } = setup();
  toasts.add({ title: "done" });
  toasts.add({ title: "broken", aspect: "red" });
  for (const task of planned.keys()) task();
  expect(titles()).toEqual(["broken"]);
});

it("leaves more time for an undo", () => {
  const { toasts, planned } = setup();
  toasts.add({ title: "a" });
  toasts.add({ title: "b", undo: () => {} });
  const [first = 0, second = 0] = planned.values();
  expect(second).toBeGreaterThan(first);
});

it("shows the newest few", () => {
  const { toasts, titles } = setup();
  for (const title of "abcdef") toasts.add({ title });
  expect(titles()).toEqual(["c", "d", "e", "f"]);
});
