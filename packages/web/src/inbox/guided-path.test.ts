import { expect, it } from "vitest";
import { pathOf } from "./guided-path.ts";

it("leads from the first event to the first call", () => {
  const start = { events: 0, hasSeen: false, flows: 0, hasCalled: false };
  expect(pathOf(start).now).toBe("send");
  expect(pathOf({ ...start, events: 1 }).now).toBe("see");
  expect(pathOf({ ...start, events: 1, hasSeen: true }).steps.map(({ state }) => state)).toEqual([
    "done",
    "done",
    "now",
    "next",
  ]);
  expect(pathOf({ events: 1, hasSeen: true, flows: 2, hasCalled: false }).now).toBe("call");
  expect(pathOf({ events: 1, hasSeen: true, flows: 2, hasCalled: true }).now).toBeUndefined();
});
