import { describe, expect, test } from "vitest";
import type { Step } from "./model.ts";
import {
  countAttempts,
  doneStep,
  failedStep,
  findPendingWait,
  runningStep,
  stoppedStep,
  waitingStep,
} from "./step-records.ts";

const key = (attempt = 1) => ({ node_id: "a", item: "", attempt, started_at: 10 });
const error = { code: "x", message: "no" };

describe("countAttempts", () => {
  const count = (...records: Pick<Step, "attempt" | "status">[]) => countAttempts(records);

  test("repeats an interrupted attempt with the same number", () => {
    expect(count()).toEqual({ next: 1, failures: 0 });
    expect(count({ attempt: 1, status: "running" })).toEqual({ next: 1, failures: 0 });
    expect(count({ attempt: 1, status: "failed" }, { attempt: 2, status: "running" })).toEqual({
      next: 2,
      failures: 1,
    });
  });

  test("continues the numbers and resets the failures after a retry by a user", () => {
    expect(count({ attempt: 1, status: "retried" }, { attempt: 2, status: "retried" })).toEqual({
      next: 3,
      failures: 0,
    });
    expect(count({ attempt: 1, status: "retried" }, { attempt: 2, status: "failed" })).toEqual({
      next: 3,
      failures: 1,
    });
  });
});

describe("findPendingWait", () => {
  test("returns the due time of a retry", () => {
    expect(
      findPendingWait([failedStep(key(), { input: null, error, log: [], retryAt: 99 }, 12)]),
    ).toEqual({
      kind: "retry",
      due: 99,
    });
  });

  test("returns the due time and the state of a wait", () => {
    const state = { seen: 1 };
    expect(findPendingWait([waitingStep(key(), null, { until: 50, state })])).toEqual({
      kind: "wait",
      due: 50,
      resumed: { state },
      startedAt: 10,
    });
  });

  test("returns undefined for a step that is running, is done, or has failed without a retry", () => {
    const output = { retry_at: 99, until: 99 };
    expect(findPendingWait([])).toBeUndefined();
    expect(findPendingWait([runningStep(key())])).toBeUndefined();
    expect(
      findPendingWait([failedStep(key(), { input: null, error, log: [], retryAt: undefined }, 12)]),
    ).toBe(undefined);
    expect(
      findPendingWait([doneStep(key(), { port: "out", input: null, output }, 12)]),
    ).toBeUndefined();
    // Only the last record counts.
    const failedWithRetry = failedStep(key(), { input: null, error, log: [], retryAt: 99 }, 12);
    expect(findPendingWait([failedWithRetry, runningStep(key(2))])).toBeUndefined();
  });
});

test("a stopped step has an error and keeps its input", () => {
  expect(stoppedStep(waitingStep(key(), { a: 1 }, { until: 50 }), 20)).toEqual({
    ...key(),
    status: "failed",
    port: null,
    input: { a: 1 },
    output: null,
    error: { code: "stopped", message: "The run ended before this step did.", node_id: "a" },
    log: [],
    finished_at: 20,
  });
});
