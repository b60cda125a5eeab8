import { expect, it } from "vitest";
import { type PastRun, replayRequest, startedRun } from "./replay.ts";

const run = (given: Partial<PastRun> = {}): PastRun => ({
  id: "r",
  flow_id: "f",
  trigger_node: "ask",
  version: 3,
  event_id: null,
  ...given,
});

it("starts the trigger again with the input", () =>
  expect(replayRequest(run(), { who: "you" })).toEqual({
    target: "/api/flows/f/runs",
    body: { trigger: "ask", input: { who: "you" } },
  }));

it("replays the event of the run, unless the input was edited", () => {
  expect(replayRequest(run({ event_id: "e" }), undefined)).toEqual({
    target: "/api/events/e/replay",
    body: { flow: "f" },
  });
  expect(replayRequest(run({ event_id: "e" }), { data: 1 })).toEqual({
    target: "/api/flows/f/runs",
    body: { trigger: "ask", input: { data: 1 } },
  });
});

it("runs the draft again if it was a run of the draft", () => {
  expect(replayRequest(run({ version: -2 }), {})).toEqual({
    target: "/api/flows/f/runs",
    query: { draft: true },
    body: { trigger: "ask", input: {} },
  });
  expect(replayRequest(run({ version: -2, event_id: "e" }), undefined).body).toEqual({
    trigger: "ask",
    event: "e",
  });
});

it("knows the new run", () => {
  expect(startedRun({ id: "n" })).toBe("n");
  expect(startedRun({ runs: [{ run_id: "m" }] })).toBe("m");
  expect(startedRun({ runs: [] })).toBeUndefined();
});
