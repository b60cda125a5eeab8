import { expect, it } from "vitest";
import { readObject } from "./read-object.ts";

it("parses an object, and blank text as an empty object", () => {
  expect(readObject('{ "a": 1 }')).toEqual({ value: { a: 1 } });
  expect(readObject(" \n")).toEqual({ value: {} });
});

it("returns an error for other JSON values, and for invalid JSON", () => {
  expect(readObject("[1]")).toEqual({ error: "must be a JSON object" });
  expect(readObject('{ "a": ')).toEqual({ error: expect.stringContaining("JSON") });
});
