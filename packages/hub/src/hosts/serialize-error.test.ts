import { expect, it } from "vitest";
import { serializeError } from "./serialize-error.ts";

it("serializes the type, message, code, stack and cause of an error, and omits its other properties", () => {
  const cause = Object.assign(new Error("terminated"), { code: "57P01", client: { secretKey: 7 } });
  const serialized = serializeError(new TypeError("failed", { cause }));
  expect(serialized).toEqual({
    type: "TypeError",
    message: "failed",
    stack: expect.stringContaining("TypeError: failed"),
    cause: { type: "Error", message: "terminated", code: "57P01", stack: expect.any(String) },
  });
  expect(JSON.stringify(serialized)).not.toContain("secretKey");
});

it("returns primitive values unchanged, and other objects as a string", () => {
  expect([
    serializeError("text"),
    serializeError(undefined),
    serializeError({ secretKey: 7 }),
  ]).toEqual(["text", undefined, "[object Object]"]);
});
