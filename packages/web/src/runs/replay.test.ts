import { expect, it } from "vitest";
import { type ReplayableRun, replayRequest, startedRunId } from "./replay.ts";

const run = (fields: Partial<ReplayableRun> = {}): ReplayableRun => ({
  id: "r",
  flow_id: "f",
  trigger_node: "ask",
  version: 3,
  event_id: null,
  ...fields,
});

it("starts a run from the same trigger with the input", () =>
  expect(replayRequest(run(), { who: "you" })).toEqual({
    path: "/api/flows/:flow/runs",
    options: { params: { flow: "f" }, body: { trigger: "ask", input: { who: "you" } } },
  }));

it("replays the event of the run, unless there is an edited input", () => {
  expect(replayRequest(run({ event_id: "e" }), undefined)).toEqual({
    path: "/api/events/:event/replay",
    options: { params: { event: "e" }, body: { flow: "f", trigger: "ask" } },
  });
  expect(replayRequest(run({ event_id: "e" }), { data: 1 })).toEqual({
    path: "/api/flows/:flow/runs",
    options: { params: { flow: "f" }, body: { trigger: "ask", input: { data: 1 } } },
  });
});

it("replays a run of the draft with the draft", () => {
  expect(replayRequest(run({ version: -2 }), {})).toEqual({
    path: "/api/flows/:flow/runs",
    options: {
      params: { flow: "f" },
      query: { draft: "1" },
      body: { trigger: "ask", input: {} },
    },
  });
  expect(replayRequest(run({ version: -2, event_id: "e" }), undefined).options.body).toEqual({
    trigger: "ask",
    event: "e",
  });
});

it("returns the id of the new run, or undefined if none started", () => {
  expect(startedRunId({ id: "n" })).toBe("n");
  expect(startedRunId({ runs: [{ run_id: "m", flow_id: "f" }] })).toBe("m");
  expect(startedRunId({ runs: [] })).toBeUndefined();
});
