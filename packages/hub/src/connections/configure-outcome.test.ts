import { expect, it, test } from "vitest";
import { readConfigureAnswer, readConfigureError } from "./configure-outcome.ts";
import { ConnectionError } from "./connection-error.ts";

const textContent = (text: string) => [{ type: "text", text }];

it.each([
  ["structured content", { isError: false, content: [], structuredContent: { success: true } }],
  ["JSON in a text", { isError: false, content: textContent('{ "success": true }') }],
])("reads success from %s", (_, answer) => {
  expect(readConfigureAnswer(answer)).toEqual({ outcome: "done", isStored: false });
});

it.each([
  [
    "{ success: false }",
    { isError: false, content: textContent('{"success":false}') },
    "TRIGGER_CONFIGURE returned { success: false }.",
  ],
  [
    "the reason of the server",
    { isError: false, content: [], structuredContent: { success: false, error: "no quota" } },
    "no quota",
  ],
  [
    "a tool error",
    { isError: true, content: textContent("Connection ID not available") },
    "Connection ID not available",
  ],
  [
    "a tool error without a text",
    { isError: true, content: [] },
    "TRIGGER_CONFIGURE returned an error without a message.",
  ],
])("reads a rejection from %s", (_, answer, error) => {
  expect(readConfigureAnswer(answer)).toEqual({ outcome: "rejected", error });
});

it.each(["", "ok", "[]", "{}", '{"success":"yes"}'])(
  "reads the outcome unknown from the text %j",
  (text) => {
    expect(readConfigureAnswer({ isError: false, content: textContent(text) })).toMatchObject({
      outcome: "unknown",
    });
  },
);

test("an error means rejected only if the server has answered with it", () => {
  const rejected = new ConnectionError("rejected", "no such tool");
  expect(readConfigureError(rejected)).toEqual({ outcome: "rejected", error: "no such tool" });
  const timeout = new ConnectionError("timeout", "no answer within 20 s");
  expect(readConfigureError(timeout)).toEqual({
    outcome: "unknown",
    error: "no answer within 20 s",
    isUnreachable: false,
  });
  const refused = new ConnectionError("unreachable", "connection refused");
  expect(readConfigureError(refused)).toMatchObject({ outcome: "unknown", isUnreachable: true });
});

it("limits the length of the server's error", () => {
  const answer = readConfigureAnswer({ isError: true, content: textContent("x".repeat(5_000)) });
  expect(answer).toEqual({ outcome: "rejected", error: `${"x".repeat(999)}…` });
});
