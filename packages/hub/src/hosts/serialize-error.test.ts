import { expect, it } from "vitest";
import { serializeError } from "./serialize-error.ts";

it("logs no other properties of an error, nor of its cause", () => {
  const cause = Object.assign(new Error("terminated"), { code: "57P01", client: { secretKey: 7 } });
  const logged = serializeError(new TypeError("failed", { cause }));
  expect(logged).toEqual({
    type: "TypeError",
    message: "failed",
    stack: expect.stringContaining("TypeError: failed"),
    cause: { type: "Error", message: "terminated", code: "57P01", stack: expect.any(String) },
  });
  expect(JSON.stringify(logged)).not.toContain("secretKey");
});

it("logs values that are not errors", () => {
  expect([
    serializeError("text"),
    serializeError(undefined),
    serializeError({ secretKey: 7 }),
  ]).toEqual(["text", undefined, "[object Object]"]);
});
