import { describe, expect, test } from "vitest";
import type { Step } from "../store/run-store.ts";
import { done, failed, restOf, running, stopped, triedIn, waiting } from "./step-records.ts";

const place = (attempt = 1) => ({ node_id: "a", item: "", attempt, started_at: 10 });
const error = { code: "x", message: "no" };

describe("the next attempt", () => {
  const tried = (...records: Pick<Step, "attempt" | "status">[]) => triedIn(records);

  test("is the first where there was none, or where one was interrupted", () => {
    expect(tried()).toEqual({ attempt: 1, failures: 0 });
    expect(tried({ attempt: 1, status: "running" })).toEqual({ attempt: 1, failures: 0 });
    expect(tried({ attempt: 1, status: "failed" }, { attempt: 2, status: "running" })).toEqual({
      attempt: 2,
      failures: 1,
    });
  });

  test("goes on in number, but not in failures, where somebody asked for it", () => {
    expect(tried({ attempt: 1, status: "retried" }, { attempt: 2, status: "retried" })).toEqual({
      attempt: 3,
      failures: 0,
    });
    expect(tried({ attempt: 1, status: "retried" }, { attempt: 2, status: "failed" })).toEqual({
      attempt: 3,
      failures: 1,
    });
  });
});

describe("what a step waited for", () => {
  test("is the next attempt", () => {
    expect(restOf([failed(place(), { input: null, error, log: [], retryAt: 99 }, 12)])).toEqual({
      kind: "retry",
      due: 99,
    });
  });

  test("is a time", () => {
    const state = { seen: 1 };
    expect(restOf([waiting(place(), null, { until: 50, state })])).toEqual({
      kind: "wait",
      due: 50,
      resumed: { state },
      since: 10,
    });
  });

  test("is an answer: then it is looked for at once, also before the time is up", () => {
    const asked = { kind: "answer", prompt: "May I?" } as const;
    for (const wait of [{ until: null }, { until: 50, for: asked }])
      expect(restOf([waiting(place(), null, wait)])).toMatchObject({ kind: "wait", due: null });
  });

  test("is nothing where it was at work, has failed for good, or is done", () => {
    const output = { retry_at: 99, until: 99 };
    expect(restOf([])).toBeUndefined();
    expect(restOf([running(place())])).toBeUndefined();
    expect(restOf([failed(place(), { input: null, error, log: [], retryAt: undefined }, 12)])).toBe(
      undefined,
    );
    expect(restOf([done(place(), { port: "out", input: null, output }, 12)])).toBeUndefined();
    // Only the last word counts.
    const again = failed(place(), { input: null, error, log: [], retryAt: 99 }, 12);
    expect(restOf([again, running(place(2))])).toBeUndefined();
  });
});

test("a step that is left unfinished says so, and keeps its input", () => {
  expect(stopped(waiting(place(), { a: 1 }, { until: null }), 20)).toEqual({
    ...place(),
    status: "failed",
    port: null,
    input: { a: 1 },
    output: null,
    error: { code: "stopped", message: "The run ended before this step did.", node_id: "a" },
    log: [],
    finished_at: 20,
  });
});
