import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  firstLine,
  joined,
  pickNumber,
  pickText,
  pickUrl,
  sanitizeSummary,
  sanitizeText,
  shortRef,
} from "./summary.ts";

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

it("replaces control characters and lone surrogates", () => {
  expect(sanitizeText("Grüße 👋 from\u0000the\u001b[31m\r\nside", 100)).toBe(
    "Grüße 👋 from the [31m side",
  );
  expect(sanitizeText("a\ud800b", 100)).toBe("a\ufffdb");
});

it("truncates a title of 100 KB", () => {
  const { title } = sanitizeSummary({ title: "x".repeat(100_000) });
  expect(title).toHaveLength(300);
  expect(title?.endsWith("…")).toBe(true);
});

it("returns well-formed text without control characters and within the limit, for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 20 }), (text, max) => {
      const sanitized = sanitizeText(text, max);
      expect(sanitized.isWellFormed()).toBe(true);
      expect(sanitized.length).toBeLessThanOrEqual(max);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it detects control characters
      expect(sanitized).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    }),
  );
});

it("returns null for absent, empty and invalid fields", () => {
  expect(sanitizeSummary({ title: "", number: 1.5, repo: null })).toEqual({
    action: null,
    repo: null,
    sender: null,
    number: null,
    title: null,
    url: null,
    check_result: null,
  });
  const checkResult = { conclusion: "", head_branch: "a\nb", head_sha: "f".repeat(1_000) };
  expect(sanitizeSummary({ check_result: checkResult }).check_result).toEqual({
    conclusion: null,
    head_branch: "a b",
    head_sha: `${"f".repeat(99)}…`,
  });
});
