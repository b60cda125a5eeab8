import fc from "fast-check";
import jsonata from "jsonata";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { checkFilter, evaluateFilter } from "./filter.ts";

const event: Json = {
  type: "issues",
  data: { action: "opened", issue: { number: 7, labels: [{ name: "red" }, { name: "bug" }] } },
};
const filter = (text: string) => evaluateFilter(text, event);

describe("a filter", () => {
  it.each([
    ["data.issue.number > 5", true],
    ["data.issue.number > 10", false],
    ['"bug" in data.issue.labels.name', true],
    ['data.action = "opened" and $count(data.issue.labels) = 2', true],
    ['$contains(data.action, "open")', true],
    ["data.nothing", false],
    ["data.issue", true],
    ["[]", false],
    ["[0, 1]", true],
    ['""', false],
    ["function($x){$x}", false],
    ["$count", false],
    ["data.constructor", false],
    ["data.__proto__", false],
  ])("%s: %s", async (text, holds) => {
    expect(await filter(text)).toEqual({ holds });
  });

  it.each([
    ["data.issue.", "at character"],
    ["(", "at character"],
    ["/(a+)+$/", "uses a regular expression"],
    ['data.x ~> /b/ or $replace("a", /c/, "d") = 1', "uses a regular expression"],
    [`"${"x".repeat(2000)}"`, "is longer than 2000 characters"],
  ])("%s is refused when it is saved", async (text, words) => {
    expect(checkFilter(text)).toContain(words);
    expect(await filter(text)).toEqual({ problem: expect.stringContaining(words) });
  });

  it.each([
    ["endless recursion", "($f := function($n) { $f($n + 1) }; $f(1))", "takes more than"],
    ["deep recursion", "($f := function($n) { 1 + $f($n + 1) }; $f(1))", "Stack overflow"],
    ["loops in loops", "$map([1..999], function($a) { $map([1..999], function($b) { $a }) })", ""],
    ["long lists", "$count([1..9000000])", "maximum sequence length"],
    ["other languages", '$eval("1")', "$eval is not available"],
    ["wrong types", "data.action + 1", "must evaluate to a number"],
  ])("%s ends in words", async (_, text, words) => {
    expect(checkFilter(text)).toBeUndefined();
    expect(await filter(text)).toEqual({ problem: expect.stringContaining(words) });
  });

  it("has its budget anew for every event, also when several are at it", async () => {
    const text = "$sum($map([1..500], function($n) { $n })) > 0";
    const all = await Promise.all(Array.from({ length: 20 }, () => filter(text)));
    expect(all).toEqual(all.map(() => ({ holds: true })));
  });

  it.each([
    ['$pad("", 1000000000)', "makes too long a text"],
    ['$replace($pad("", 100000, "a"), "a", $pad("", 1000))', "makes too long a text"],
    ['$join($split($pad("", 2000, "a"), ""), $pad("", 1000))', "makes too long a text"],
    [`($a := $pad("", 99999); ${"$a := $a & $a; ".repeat(9)}$a)`, "steps"],
  ])("%s would make too long a text", async (text, words) => {
    expect(await filter(text)).toEqual({ problem: expect.stringContaining(words) });
  });

  it.each([
    ['$pad("a", 3) & "|"', "a  |"],
    ['$pad("a", -3, "-")', "--a"],
    ['$pad("abc", 2)', "abc"],
    ['$replace("a.b.c", ".", "--")', "a--b--c"],
    ['$replace("a.b.c", ".", "", 1)', "ab.c"],
    ['$replace("abc", "x", "y")', "abc"],
    ['$join(["a", "b"], ", ")', "a, b"],
    ['$join(["a", "b"])', "ab"],
    [
      '$string($join(nothing)) & $string($replace(nothing, "a", "b")) & $string($pad(nothing, 1))',
      "",
    ],
  ])("%s is %j, as JSONata has it", async (text, value) => {
    expect(await filter(`(${text}) = ${JSON.stringify(value)}`)).toEqual({ holds: true });
    expect(await jsonata(text).evaluate({})).toBe(value);
  });

  it("never throws, and leaves the event as it was", async () => {
    const before = JSON.stringify(event);
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        const result = await filter(text);
        expect("holds" in result || typeof result.problem === "string").toBe(true);
      }),
    );
    await filter("data ~> |issue|{'number': 8}|");
    expect(JSON.stringify(event)).toBe(before);
  });
});
