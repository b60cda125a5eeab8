import { describe, expect, it } from "vitest";
import { valueAt } from "./source.ts";

describe("valueAt", () => {
  const body = { a: { b: [{ c: 1 }, "x"] }, "0": "zero" };
  it.each([
    ["a.b.0.c", 1],
    ["a.b.1", "x"],
    ["0", "zero"],
    ["a.b.2", undefined],
    ["a.b.", undefined],
    ["a.b.length", undefined],
    ["a.b.-1", undefined],
    ["a.b.0.c.d", undefined],
    ["a.b.1.length", undefined],
    ["constructor", undefined],
    ["__proto__", undefined],
    ["a.toString", undefined],
    ["", undefined],
  ])("returns the value at %j: %j", (path, value) => {
    expect(valueAt(body, path)).toEqual(value);
  });
});
