import { expect, it } from "vitest";
import { formatEntry } from "./log-line.ts";

it("writes fields as key=value, without empty ones", () => {
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

it("writes the stack of an error below", () => {
  const err = { type: "Error", message: "disk full", stack: "Error: disk full\n    at write" };
  expect(formatEntry({ msg: "storage error", err })).toBe(
    "storage error\n    Error: disk full\n    at write",
  );
});
