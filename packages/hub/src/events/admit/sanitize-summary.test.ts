import fc from "fast-check";
import { expect, it } from "vitest";
import { sanitizeSummary, sanitizeText } from "./sanitize-summary.ts";

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
