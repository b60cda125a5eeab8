import type { RunWithSteps } from "@signalbox/contract";
import { expect, it } from "vitest";
import { stationsOf } from "./stations.ts";

type Step = RunWithSteps["steps"][number];
const at = (ms: number) => new Date(Date.UTC(2026, 10, 15) + ms).toISOString();
const step = (node_id: string, more: Partial<Step> = {}): Step => ({
  nth: 0,
  node_id,
  item: "",
  attempt: 1,
  status: "done",
  port: "out",
  input: null,
  output: null,
  error: null,
  log: [],
  started_at: at(0),
  finished_at: at(212),
  ...more,
});
const flowOf = (...ids: string[]) => ({
  nodes: ids.map((id) => ({
    id,
    type: "X",
    name: id.toUpperCase(),
    slug: id,
    position: { x: 0, y: 0 },
    parameters: {},
  })),
  edges: ids.slice(1).map((target, index) => ({
    id: target,
    source: ids[index] as string,
    sourceHandle: "out",
    target,
    targetHandle: "in",
  })),
});
const run = (steps: Step[], status: RunWithSteps["status"] = "running") => ({
  steps,
  trigger_node: "t",
  status,
});

it("shows the completed steps, the running step and the nodes that may follow", () => {
  const steps = [
    step("a"),
    step("b", { port: "true" }),
    step("c", { status: "running", attempt: 2 }),
  ];
  expect(
    stationsOf(run(steps), flowOf("t", "a", "b", "c", "d")).map(({ name, state, note }) => [
      name,
      state,
      note,
    ]),
  ).toEqual([
    ["T", "done", undefined],
    ["A", "done", "212 ms"],
    ["B", "done", "true"],
    ["C", "now", "attempt 2"],
    ["D", "next", undefined],
  ]);
});

it("shows the newest attempt of a step, and no following nodes after the run has ended", () => {
  const steps = [step("a", { status: "retried" }), step("a", { attempt: 2, status: "failed" })];
  expect(stationsOf(run(steps, "failed"), flowOf("t", "a", "b")).map(({ state }) => state)).toEqual(
    ["done", "failed"],
  );
});

it("shows a failed attempt as held until the next attempt, unless the run has ended", () => {
  const failed = step("a", { status: "failed", output: { retry_at: 1 } });
  const stateOf = (status: RunWithSteps["status"]) => {
    const station = stationsOf(run([failed], status), undefined)[1];
    return [station?.state, station?.note];
  };
  expect(stateOf("running")).toEqual(["held", "waits for attempt 2"]);
  expect(stateOf("failed")).toEqual(["failed", ""]);
});

it("omits loop iterations, parts of steps and skipped steps", () => {
  const steps = [
    step("a", { item: "a:1" }),
    step("b", { item: "#turn-1" }),
    step("c", { status: "skipped" }),
  ];
  expect(stationsOf(run(steps, "succeeded"), undefined)).toHaveLength(1);
});

it("shows the trigger and the newest steps of a long run, and the node after them", () => {
  const ids = Array.from({ length: 20 }, (_, index) => `n${index}`);
  const stations = stationsOf(run(ids.slice(0, 12).map((id) => step(id))), flowOf("t", ...ids));
  expect(stations).toHaveLength(6);
  expect(stations.map(({ key }) => key)).toEqual(["t", "n8", "n9", "n10", "n11", "n12"]);
});
