import { describe, expect, it } from "vitest";
import { valueAt } from "../extractor.ts";
import { firstLine, joined, pickNumber, pickText, pickUrl, shortRef } from "./pick.ts";

describe("a path into a payload", () => {
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
  ])("%j leads to %j", (path, value) => {
    expect(valueAt(body, path)).toEqual(value);
  });
});

describe("what is picked", () => {
  it("is the first text with something in it", () => {
    const body = { a: "", b: "  ", c: 3, d: { e: "found" }, f: "later" };
    expect(pickText(body, "a", "b", "c", "d", "d.e", "f")).toBe("found");
    expect(pickText(body, "a")).toBeNull();
    expect(pickText({})).toBeNull();
  });

  it("is a whole number", () => {
    expect(pickNumber({ a: 1.5, b: "2", c: 1e300, d: 4 }, "a", "b", "c", "d")).toBe(4);
    expect(pickNumber({ a: 0 }, "a")).toBe(0);
  });

  it("is an address of the web", () => {
    const body = { a: "javascript:alert(1)", b: "/path", c: " https://x", d: "HTTPS://x" };
    expect(pickUrl(body, "a", "b", "c", "d")).toBe("HTTPS://x");
  });

  it("is put together from what is there", () => {
    const body = { a: "x", b: "x", c: "y\nz", ref: "refs/tags/v1" };
    expect(pickText(body, joined(": ", "a", "none", "b", firstLine("c"), shortRef("ref")))).toBe(
      "x: y: v1",
    );
    expect(pickText(body, joined(": ", "none"), "a")).toBe("x");
  });
});
