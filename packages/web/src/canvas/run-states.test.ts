import { expect, test } from "vitest";
import { edgeStateOf, type Step, statesOf } from "./run-states.ts";

const step = (nth: number, node_id: string, overrides: Partial<Step> = {}): Step => ({
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
  ...overrides,
});

test("derives the state of a node from its last step, and ignores parts of steps", () => {
  const states = statesOf([
    step(1, "call", { status: "retried", port: null }),
    step(2, "call", { status: "running", attempt: 2, port: null, finished_at: null }),
    step(3, "agent"),
    step(4, "agent", { item: "#turn-1", status: "failed" }),
  ]);
  expect(states.get("call")).toMatchObject({ aspect: "lunar", note: "attempt 2" });
  expect(states.get("agent")).toMatchObject({ aspect: "green", note: "212 ms" });
});

test("returns `done`, `run` or `skip` for the edges that the run has reached", () => {
  const states = statesOf([
    step(1, "start"),
    step(2, "check", { port: "true" }),
    step(3, "yes", { status: "running", port: null, finished_at: null }),
    step(4, "no", { status: "skipped", port: null }),
  ]);
  const stateOf = (source: string, sourceHandle: string, target: string) =>
    edgeStateOf(states, { source, sourceHandle, target });
  expect(stateOf("start", "out", "check")).toBe("done");
  expect(stateOf("check", "true", "yes")).toBe("run");
  expect(stateOf("check", "false", "no")).toBe("skip");
  expect(stateOf("yes", "out", "end")).toBeUndefined();
  expect(stateOf("other", "out", "end")).toBeUndefined();
});

test("returns the state of the edge into a loop while its items are executed, and afterwards", () => {
  const enter = { source: "each", sourceHandle: "item", target: "body" };
  const body = step(2, "body", { item: "each:0", port: null, status: "running" });
  const each = step(1, "each", { status: "running", port: null });
  expect(edgeStateOf(statesOf([each, body]), enter)).toBe("run");
  const ended = [step(1, "each", { port: "done" }), step(2, "body", { item: "each:0" })];
  expect(edgeStateOf(statesOf(ended), enter)).toBe("done");
  expect(edgeStateOf(statesOf(ended.slice(0, 1)), enter)).toBe("skip");
});
