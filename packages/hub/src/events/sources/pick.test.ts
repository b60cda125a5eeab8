import { describe, expect, it } from "vitest";
import { firstLine, joined, pickNumber, pickText, pickUrl, shortRef } from "./pick.ts";

describe("pickers", () => {
  it("pick the first non-blank text", () => {
    const body = { a: "", b: "  ", c: 3, d: { e: "found" }, f: "later" };
    expect(pickText(body, "a", "b", "c", "d", "d.e", "f")).toBe("found");
    expect(pickText(body, "a")).toBeNull();
    expect(pickText({})).toBeNull();
  });

  it("pick the first safe integer", () => {
    expect(pickNumber({ a: 1.5, b: "2", c: 1e300, d: 4 }, "a", "b", "c", "d")).toBe(4);
    expect(pickNumber({ a: 0 }, "a")).toBe(0);
  });

  it("pick the first http(s) URL", () => {
    const body = { a: "javascript:alert(1)", b: "/path", c: " https://x", d: "HTTPS://x" };
    expect(pickUrl(body, "a", "b", "c", "d")).toBe("HTTPS://x");
  });

  it("join the distinct values that exist", () => {
    const body = { a: "x", b: "x", c: "y\nz", ref: "refs/tags/v1" };
    expect(pickText(body, joined(": ", "a", "none", "b", firstLine("c"), shortRef("ref")))).toBe(
      "x: y: v1",
    );
    expect(pickText(body, joined(": ", "none"), "a")).toBe("x");
  });
});
