import { expect, it } from "vitest";
import { giveUpUnseen, outcomeOf } from "./outcome.ts";

const ended = { code: 0, signal: null, stdout: "labelled as bug", stderr: "thinking" };

it("is processed after exit code 0, with the last line of stdout, or else of stderr", () => {
  expect(outcomeOf(ended, 1, 3)).toEqual({ kind: "processed", note: "labelled as bug" });
  expect(outcomeOf({ ...ended, stdout: undefined }, 3, 3)).toEqual({
    kind: "processed",
    note: "thinking",
  });
  expect(outcomeOf({ code: 0, signal: null }, 1, 1)).toEqual({ kind: "processed", note: "" });
});

it("is a retry after a failure, while there are attempts left", () => {
  const failed = { ...ended, code: 3, stderr: "rate limit" };
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

it("names the signal or the time limit", () => {
  expect(outcomeOf({ code: null, signal: "SIGSEGV" }, 1, 2)).toEqual({
    kind: "retry",
    reason: "ended by SIGSEGV",
  });
  // A command that exits with 0 when it is terminated has not finished.
  expect(outcomeOf({ ...ended, timeoutS: 60 }, 1, 2)).toEqual({
    kind: "retry",
    reason: "exceeded the time limit of 60 s: thinking",
  });
});

it("is given up without a run if the earlier attempts left no result", () => {
  expect(giveUpUnseen(4, 3)).toEqual({
    kind: "given up",
    note: "Gave up after 4 attempts: no attempt reported a result; the limit is 3",
  });
});

it("fits into the note of an event", () => {
  const long = outcomeOf({ code: 1, signal: null, stderr: "x".repeat(1_000) }, 1, 1);
  expect("note" in long && long.note.length).toBe(1_000);
});
