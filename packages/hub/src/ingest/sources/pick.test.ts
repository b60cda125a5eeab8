import { describe, expect, it } from "vitest";
import { valueAt } from "../extractor.ts";
import { firstLine, joined, pickNumber, pickText, pickUrl, shortRef } from "./pick.ts";

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

describe("pickers", () => {
  it("pick the first non-blank text", () => {
    const body = { a: "", b: "  ", c: 3, d: { e: "found" }, f: "later" };
    expect(pickText(body, "a", "b", "c", "d", "d.e", "f")).toBe("found");
    expect(pickText(body, "a")).toBeNull();
    expect(pickText({})).toBeNull();
  });

  it("pick an integer", () => {
    expect(pickNumber({ a: 1.5, b: "2", c: 1e300, d: 4 }, "a", "b", "c", "d")).toBe(4);
    expect(pickNumber({ a: 0 }, "a")).toBe(0);
  });

  it("pick an http(s) URL", () => {
    const body = { a: "javascript:alert(1)", b: "/path", c: " https://x", d: "HTTPS://x" };
    expect(pickUrl(body, "a", "b", "c", "d")).toBe("HTTPS://x");
  });

  it("join the values that exist", () => {
    const body = { a: "x", b: "x", c: "y\nz", ref: "refs/tags/v1" };
    expect(pickText(body, joined(": ", "a", "none", "b", firstLine("c"), shortRef("ref")))).toBe(
      "x: y: v1",
    );
    expect(pickText(body, joined(": ", "none"), "a")).toBe("x");
  });
});
