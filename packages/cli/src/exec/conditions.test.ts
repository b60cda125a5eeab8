import { expect, it } from "vitest";
import { matchesConditions, parseCondition } from "./conditions.ts";

const payload = {
  action: "opened",
  number: 7,
  draft: false,
  milestone: null,
  issue: { labels: [{ name: "bug" }, { name: "a=b" }] },
  "odd=name": "x",
};

const matches = (...texts: string[]) =>
  matchesConditions(
    payload,
    texts.map((text) => {
      const condition = parseCondition(text);
      if (!condition) throw new Error(`not a condition: ${text}`);
      return condition;
    }),
  );

it.each([
  ["action=opened", true],
  ["action=closed", false],
  ["action=", false],
  ["number=7", true],
  ["number=70", false],
  ["draft=false", true],
  ["draft=true", false],
  ["milestone=null", true],
  ["missing=null", false],
  ["issue.labels[].name=bug", true],
  ["issue.labels[].name=a=b", true],
  ["issue.labels[0].name=a=b", false],
  ['["odd=name"]=x', true],
])("evaluates %s to %s", (text, expected) => {
  expect(matches(text)).toBe(expected);
});

it("matches only if all conditions are true", () => {
  expect(matches("action=opened", "number=7")).toBe(true);
  expect(matches("action=opened", "number=8")).toBe(false);
  expect(matches()).toBe(true);
});

it.each(["action", "", "=opened", "a..b=c", "[=x"])("does not parse %o as a condition", (text) => {
  expect(parseCondition(text)).toBeUndefined();
});
