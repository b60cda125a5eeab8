import { describe, expect, it } from "vitest";
import { createSenderRule } from "./sender-rule.ts";

describe("createSenderRule", () => {
  it.each([
    ["mona", "mona", true],
    ["mona", "MONA", true],
    ["mona", "monalisa", false],
    ["mo*", "monalisa", true],
    ["*[bot]", "dependabot[bot]", true],
    ["*[bot]", "dependabot", false],
    ["m?na", "mina", true],
    ["m?na", "mna", false],
    ["*", "anyone", true],
    ["a*b*c", "aXbXbXc", true],
    ["a*b*c", "aXbX", false],
    ["mo.a", "mona", false],
  ])("%s matches %s: %s", (glob, sender, expected) => {
    expect(createSenderRule(["other", glob])(sender)).toBe(expected);
  });

  it("allows all senders without a list, and an event without a sender only then", () => {
    expect(createSenderRule(undefined)(null)).toBe(true);
    expect(createSenderRule(["*"])(null)).toBe(false);
    expect(createSenderRule([])("mona")).toBe(false);
  });

  it("does not backtrack exponentially on hostile names", () => {
    const started = performance.now();
    expect(createSenderRule([`${"*a".repeat(30)}b`])("a".repeat(5_000))).toBe(false);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});
