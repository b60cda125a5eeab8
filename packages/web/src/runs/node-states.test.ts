import { expect, it } from "vitest";
import { nodeStatesOf } from "./node-states.ts";
import { step } from "./test-step.ts";

const iterations = (...statuses: ("done" | "failed" | "running" | "skipped")[]) =>
  statuses.map((status, index) => step(index + 1, "body", { item: `each:${index}`, status }));

it("returns the state of the last step for a node outside of loops", () =>
  expect(nodeStatesOf([step(1, "a", { to: 212 })]).get("a")).toMatchObject({
    aspect: "green",
    note: "212 ms",
  }));

it.each([
  [["done", "done"], "green", "2 ×"],
  [["failed", "done", "running"], "red", "1 of 3 failed"],
  [["done", "running"], "lunar", "item 2"],
  [["skipped", "skipped"], "none", "skipped"],
  [["done", "skipped", "done"], "green", "2 of 3"],
] as const)("summarizes a node in a loop with %j as %s: %s", (statuses, aspect, note) =>
  expect(nodeStatesOf(iterations(...statuses)).get("body")).toMatchObject({ aspect, note }),
);

it("shows a pinned node in a loop as done, also if some iterations do not reach it", () => {
  const pin = step(9, "body", { item: "", to: 212 });
  const steps = [pin, ...iterations("skipped", "skipped")];
  expect(nodeStatesOf(steps).get("body")).toEqual(nodeStatesOf([pin]).get("body"));
});

it("counts an item once, even if it has several attempts and parts", () => {
  const steps = [
    step(1, "body", { item: "each:0", status: "failed", port: null }),
    step(2, "body", { item: "each:0", attempt: 2 }),
    step(3, "body", { item: "each:1" }),
    step(4, "body", { item: "each:1#turn-1", status: "failed" }),
  ];
  expect(nodeStatesOf(steps).get("body")).toMatchObject({ note: "2 ×", port: "out" });
});

it("returns no port if the items continued at different ports", () => {
  const steps = [
    step(1, "check", { item: "each:0", port: "true" }),
    step(2, "check", { item: "each:1", port: "false" }),
  ];
  expect(nodeStatesOf(steps).get("check")?.port).toBeNull();
});

it("counts a node that will be retried as running while the run is active", () => {
  const steps = [step(1, "a", { status: "failed", port: null, output: { retry_at: 5 } })];
  expect(nodeStatesOf(steps, true).get("a")).toMatchObject({ aspect: "lunar", note: "attempt 2" });
  expect(nodeStatesOf(steps, false).get("a")?.aspect).toBe("red");
});

it("counts an item that will be retried as running while the run is active", () => {
  const steps = [
    step(1, "body", { item: "each:0" }),
    step(2, "body", { item: "each:1", status: "failed", port: null, output: { retry_at: 5 } }),
  ];
  expect(nodeStatesOf(steps, true).get("body")).toMatchObject({
    aspect: "lunar",
    note: "item 2 · attempt 2",
    label: "under way, 1 item done",
  });
  expect(nodeStatesOf(steps, false).get("body")).toMatchObject({ note: "1 of 2 failed" });
  const third = [...steps, step(3, "body", { item: "each:1", attempt: 3, to: null })];
  expect(nodeStatesOf(third, true).get("body")?.note).toBe("item 2 · attempt 3");
});

it("counts retried items as running while the retried run is active", () => {
  const steps = [
    step(1, "body", { item: "each:0" }),
    step(2, "body", { item: "each:1", status: "retried", port: null }),
  ];
  expect(nodeStatesOf(steps, true).get("body")).toMatchObject({ aspect: "lunar" });
  expect(nodeStatesOf(steps, false).get("body")).toMatchObject({ aspect: "red" });
});
