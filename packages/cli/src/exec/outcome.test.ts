import { expect, it } from "vitest";
import { giveUpWithoutResult, outcomeOf } from "./outcome.ts";

const success = { code: 0, signal: null, stdout: "labelled as bug", stderr: "thinking" };

it("returns `processed` after exit code 0, with the last line of stdout, or else of stderr", () => {
  expect(outcomeOf(success, 1, 3)).toEqual({ kind: "processed", note: "labelled as bug" });
  expect(outcomeOf({ ...success, stdout: undefined }, 3, 3)).toEqual({
    kind: "processed",
    note: "thinking",
  });
  expect(outcomeOf({ code: 0, signal: null }, 1, 1)).toEqual({ kind: "processed", note: "" });
});

it("returns `retry` after a failure while attempts are left, and then `given up`", () => {
  const failed = { ...success, code: 3, stderr: "rate limit" };
  expect(outcomeOf(failed, 2, 3)).toEqual({ kind: "retry", reason: "exit code 3: rate limit" });
  expect(outcomeOf(failed, 3, 3)).toEqual({
    kind: "given up",
    note: "Gave up after 3 attempts: exit code 3: rate limit",
  });
  expect(outcomeOf({ code: 1, signal: null }, 1, 1)).toEqual({
    kind: "given up",
    note: "Gave up after 1 attempt: exit code 1",
  });
});

it("names the signal or the time limit that ended the command in the reason", () => {
  expect(outcomeOf({ code: null, signal: "SIGSEGV" }, 1, 2)).toEqual({
    kind: "retry",
    reason: "ended by SIGSEGV",
  });
  // A command that exceeds the time limit has failed, even if it exits with 0 when it is terminated.
  expect(outcomeOf({ ...success, timeoutS: 60 }, 1, 2)).toEqual({
    kind: "retry",
    reason: "exceeded the time limit of 60 s: thinking",
  });
});

it("gives up if the earlier attempts reported no result", () => {
  expect(giveUpWithoutResult(4, 3)).toEqual({
    kind: "given up",
    note: "Gave up after 4 attempts: no attempt reported a result; the limit is 3",
  });
});

it("truncates the note to 1000 characters", () => {
  const long = outcomeOf({ code: 1, signal: null, stderr: "x".repeat(1_000) }, 1, 1);
  expect("note" in long && long.note.length).toBe(1_000);
});
