import { expect, it } from "vitest";
import { formatEntry } from "./log-line.ts";

it("writes fields as key=value, and omits empty fields", () => {
  const fields = { source: "github", ms: 1.5, type: "issues", action: null, repo: "octo/town" };
  expect(formatEntry({ level: 30, time: "2026-11-15T12:00:00Z", ...fields, msg: "stored" })).toBe(
    "stored source=github ms=1.5 type=issues repo=octo/town",
  );
  expect(formatEntry({ level: 30, msg: "stopped" })).toBe("stopped");
  expect(formatEntry({ msg: "stored", events: ["a", "b"] })).toBe("stored events=a,b");
});

it("quotes text that could be read as several fields, or that controls the terminal", () => {
  expect(formatEntry({ msg: "refused", reason: "no hub", type: "a=1\u001b[2J" })).toBe(
    'refused reason="no hub" type="a=1\\u001b[2J"',
  );
});

it("writes the stack of an error below the message", () => {
  const err = { type: "Error", message: "disk full", stack: "Error: disk full\n    at write" };
  expect(formatEntry({ msg: "storage error", err })).toBe(
    "storage error\n    Error: disk full\n    at write",
  );
});

it("writes the causes of an error, and thrown values that are not errors", () => {
  const cause = {
    type: "Error",
    message: "connect ECONNREFUSED",
    stack: "Error: connect refused",
    code: "ECONNREFUSED",
  };
  const err = {
    type: "TypeError",
    message: "fetch failed",
    stack: "TypeError: fetch failed",
    cause,
  };
  expect(formatEntry({ msg: "failed", err })).toBe(
    "failed\n    TypeError: fetch failed\n    caused by Error: connect refused (ECONNREFUSED)",
  );
  expect(formatEntry({ msg: "failed", err: "a thrown text" })).toBe("failed\n    a thrown text");
});

it("escapes characters that control the terminal, also in messages and stacks", () => {
  const err = { stack: "Error: \u001b[2J\n    at \u009b2J" };
  expect(formatEntry({ msg: "bad \u001b]0;x\u0007", type: "\u009b2J", err })).toBe(
    'bad \\u001b]0;x\\u0007 type="\\u009b2J"\n    Error: \\u001b[2J\n    at \\u009b2J',
  );
});
