import { expect, test } from "vitest";
import { edgeStateOf, type Step, statesOf } from "./run-states.ts";

const step = (nth: number, node_id: string, rest: Partial<Step> = {}): Step => ({
  nth,
  node_id,
  item: "",
  attempt: 1,
  status: "done",
  port: "out",
  input: null,
  output: null,
  error: null,
  log: [],
  started_at: "2026-01-01T00:00:00.000Z",
  finished_at: "2026-01-01T00:00:00.212Z",
  ...rest,
});

test("the last step of a node is its state; parts of a step do not count", () => {
  const states = statesOf([
    step(1, "call", { status: "retried", port: null }),
    step(2, "call", { status: "running", attempt: 2, port: null, finished_at: null }),
    step(3, "agent"),
    step(4, "agent", { item: "#turn-1", status: "failed" }),
  ]);
  expect(states.get("call")).toMatchObject({ aspect: "lunar", note: "try 2" });
  expect(states.get("agent")).toMatchObject({ aspect: "green", note: "212 ms" });
});

test("an edge is lit as far as the run went, and dim where it did not go", () => {
  const states = statesOf([
    step(1, "start"),
    step(2, "check", { port: "true" }),
    step(3, "yes", { status: "running", port: null, finished_at: null }),
    step(4, "no", { status: "skipped", port: null }),
  ]);
  const state = (source: string, sourceHandle: string, target: string) =>
    edgeStateOf(states, { source, sourceHandle, target });
  expect(state("start", "out", "check")).toBe("done");
  expect(state("check", "true", "yes")).toBe("run");
  expect(state("check", "false", "no")).toBe("skip");
  expect(state("yes", "out", "end")).toBeUndefined();
  expect(state("other", "out", "end")).toBeUndefined();
});

test("the track into a loop is lit while its items are executed, and afterwards", () => {
  const enter = { source: "each", sourceHandle: "item", target: "body" };
  const body = step(2, "body", { item: "each:0", port: null, status: "running" });
  const each = step(1, "each", { status: "running", port: null });
  expect(edgeStateOf(statesOf([each, body]), enter)).toBe("run");
  const ended = [step(1, "each", { port: "done" }), step(2, "body", { item: "each:0" })];
  expect(edgeStateOf(statesOf(ended), enter)).toBe("done");
  expect(edgeStateOf(statesOf(ended.slice(0, 1)), enter)).toBe("skip");
});
