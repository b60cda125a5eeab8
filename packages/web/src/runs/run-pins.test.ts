import { expect, it } from "vitest";
import { sampleGraph } from "../canvas/test-graph.ts";
import { isTooLarge, MAX_PIN_BYTES, newestDoneStep, pinnableSteps } from "./run-pins.ts";
import { step } from "./test-step.ts";

it("selects the newest outputs of nodes with side effects, but not of triggers, loops or failures", () => {
  const steps = [
    step(1, "ask"),
    step(2, "fetch", { status: "failed", port: null }),
    step(3, "fetch", { attempt: 2, output: { status: 200 } }),
    step(4, "is_bug", { port: "true" }),
    step(5, "answer"),
    step(6, "deleted"),
  ];
  expect(pinnableSteps(sampleGraph(), steps).map(({ nth }) => nth)).toEqual([3]);
  expect(pinnableSteps(sampleGraph(), [step(1, "fetch", { item: "each:0" })])).toEqual([]);
});

it("finds the newest step of a node that is done, but not the parts of a step", () => {
  const steps = [
    step(1, "agent", { status: "failed", port: null }),
    step(2, "agent", { attempt: 2, output: "The answer" }),
    step(3, "agent", { item: "#turn-1", output: { text: "The answer" } }),
    step(4, "end"),
  ];
  expect(newestDoneStep(steps, "agent")?.nth).toBe(2);
  expect(newestDoneStep(steps, "other")).toBeUndefined();
});

it("reports whether the whole output exceeds the size limit of pins", () => {
  expect(isTooLarge({ output: { $preview: "[", bytes: MAX_PIN_BYTES + 1 } })).toBe(true);
  expect(isTooLarge({ output: { $preview: "[", bytes: 20_000 } })).toBe(false);
  expect(isTooLarge({ output: [1] })).toBe(false);
});
