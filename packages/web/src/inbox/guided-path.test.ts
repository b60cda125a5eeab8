import { expect, it } from "vitest";
import { guidedPathOf } from "./guided-path.ts";

it("makes the first step that is not done the current step", () => {
  const start = { events: 0, hasSeenEvent: false, flows: 0, hasToolCall: false };
  expect(guidedPathOf(start).current).toBe("send");
  expect(guidedPathOf({ ...start, events: 1 }).current).toBe("see");
  expect(
    guidedPathOf({ ...start, events: 1, hasSeenEvent: true }).steps.map(({ state }) => state),
  ).toEqual(["done", "done", "now", "next"]);
  expect(
    guidedPathOf({ events: 1, hasSeenEvent: true, flows: 2, hasToolCall: false }).current,
  ).toBe("call");
  expect(
    guidedPathOf({ events: 1, hasSeenEvent: true, flows: 2, hasToolCall: true }).current,
  ).toBeUndefined();
});
