import { expect, it } from "vitest";
import { readObject } from "./read-object.ts";

it("reads an object, and blank text as an empty one", () => {
  expect(readObject('{ "a": 1 }')).toEqual({ value: { a: 1 } });
  expect(readObject(" \n")).toEqual({ value: {} });
});

it("says what is wrong", () => {
  expect(readObject("[1]")).toEqual({ error: "must be a JSON object" });
  expect(readObject('{ "a": ')).toEqual({ error: expect.stringContaining("JSON") });
});
