import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import jsonata from "jsonata";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { builtIns } from "./built-ins.ts";
import { createExpressions } from "./expression.ts";

const { evaluate } = createExpressions({ length: 2000, steps: 20_000, timeMs: 500 });

it("none of the library's functions is forgotten", () => {
  const source = readFileSync(createRequire(import.meta.url).resolve("jsonata"), "utf8");
  const bound = source.matchAll(/(?:staticFrame|environment)\.bind\('(\w+)'/g);
  expect([...builtIns.keys()].toSorted()).toEqual([...bound].map(([, name]) => name).toSorted());
});

describe("they do as the library does", () => {
  const data: Json = {
    text: "a-b-😀-c",
    long: `${"x".repeat(200)}-${"ab".repeat(50)}-`,
    needle: `${"x".repeat(100)}-a`,
    numbers: [3, 1, 2, 1],
    words: ["b", "a", "B", "é"],
    list: [{ a: 1, b: [1, 2] }, { a: 2 }, { c: null }],
  };
  it.each([
    "$length(text)",
    "$length(nothing)",
    "$substring(text, 4)",
    "$substring(text, -3)",
    "$substring(text, -30, 2)",
    "$substring(text, 4, 1)",
    "$substring(text, -4, 2)",
    "$substring(text, 2, 0)",
    "$substring(text, 99)",
    '$substring("plain", 1, 3) & $substring("plain", -2)',
    "$contains(long, needle)",
    '$contains(text, "😀")',
    "$contains(nothing, 'a')",
    "$substringBefore(long, needle)",
    "$substringAfter(long, needle)",
    '$substringBefore(text, "-") & $substringAfter(text, "?")',
    "$split(long, needle)",
    '$split(text, "-", 2)',
    '$split(text, "-", 2.5)',
    "$split(nothing, '-')",
    '$replace(long, needle, "!")',
    "$sort(numbers)",
    "$sort(words)",
    "$sort(numbers, function($a, $b) { $a < $b })",
    "$sort(list, function($a, $b) { $a.a < $b.a }).a",
    "$sort(nothing)",
    "$spread(list)",
    "$spread(list[0])",
    "$spread([list, 1, 'x'])",
    "$spread([])",
    "$spread('x')",
    "$zip(numbers, words)",
    "$zip(numbers, [])",
    "$map(words, $uppercase)",
    "$map(numbers, $string)",
    '$map(words, $pad(?, 3, "#"))',
    '$map(words, $contains(?, "a"))',
    "$reduce(numbers, $append)",
    "$filter(numbers, function($n, $i, $all) { $n = $all[0] or $i = 1 })",
    "$sift(list[0], function($v, $k) { $k = 'a' })",
    '$formatNumber(12345.678, "#,##0.00")',
    '$formatNumber(0.5, "0%", {"percent": "p"})',
    '$formatInteger(1999, "I") & $formatInteger(12, "w")',
    '$parseInteger("twelve", "w") + $parseInteger("1,234", "#,##0")',
    '$fromMillis(0, "[Y0001]-[M01]-[D01] [H#1]:[m01] [P] [FNn,3-3]", "+0100")',
    "$fromMillis(1769850000000)",
    "$number('1e3') + $number(true)",
    "$distinct([1, '1', {'a': 1}, '{\"a\":1}', {'a': 1}])",
    "list.*",
    "$count($millis() & $now())",
  ])("%s", async (text) => {
    const plain = (value: unknown) => JSON.stringify(value) ?? "nothing";
    const result = await evaluate(text, data);
    expect(result).toHaveProperty("value");
    expect(plain((result as { value: unknown }).value)).toBe(
      plain(await jsonata(text).evaluate(data)),
    );
  });

  it("the time is the same for as long as an evaluation takes", async () => {
    expect(await evaluate("$toMillis($now()) = $millis()", {})).toEqual({ value: true });
  });
});

describe("none takes long, whatever it is given", () => {
  const data: Json = {
    text: "a".repeat(100_000),
    part: `ab${"a".repeat(50_000)}`,
    pairs: "😀".repeat(20_000),
    braces: "{".repeat(50_000),
    numbers: Array.from({ length: 5000 }, (_, n) => (n * 7919) % 5003),
    objects: Array.from({ length: 1000 }, (_, n) => ({ n, list: [n] })),
    keys: Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`k${n}`, [n]])),
  };
  const hostile = ["text", "pairs", "braces", "numbers", "objects", "keys", "1"];
  const second = ["part", "braces", "numbers", "$contains(?, part)"];

  it.each([...builtIns.keys()])("$%s", async (name) => {
    const { evaluate } = createExpressions({ length: 2000, steps: 20_000, timeMs: 50 });
    for (const one of hostile)
      for (const given of [one, ...second.map((other) => `${one}, ${other}`)])
        expect(Object.keys(await evaluate(`$${name}(${given})`, data))).toHaveLength(1);
  });

  it.each([
    ['$formatInteger(12345, $pad("0", 20000, ",0"))', "pictures of at most 100 letters"],
    ['$formatNumber(1, $pad("0", 101, "0"))', "pictures of at most 100 letters"],
    ['$formatNumber(1, "0", {"infinity": $pad("", 101)})', "pictures of at most 100 letters"],
    ['$parseInteger("1", $pad("0", 101, "0"))', "pictures of at most 100 letters"],
    ['$parseInteger($pad("", 101, "1"), "0")', "texts of at most 100 letters"],
    ['$fromMillis(0, $pad("", 300, "[Y]"))', "pictures of at most 100 letters"],
    ['$now($pad("", 300, "[Y]"))', "pictures of at most 100 letters"],
    ['$fromMillis(0, "[Y, 9 999999-9999999]")', "widths of at most 99"],
    ['$number($pad("", 2000, "1"))', "texts of at most 1000 letters"],
    ['$split($pad("", 200000), "")', "a list of more than 100000"],
    [`($n := numbers; $zip(${"$n, ".repeat(60)}$n))`, "more than it may at once"],
    ["keys.*", "too many lists with *"],
  ])("%s is refused in words", async (text, words) => {
    expect(await evaluate(text, data)).toEqual({ problem: expect.stringContaining(words) });
  });

  it("a function is charged also where nothing but it is called for each item", async () => {
    const text = "$count($map($n, $boolean)); ";
    expect(await evaluate(`($n := numbers; ${text.repeat(4)})`, data)).toEqual({
      problem: expect.stringContaining("takes more than 20000 steps"),
    });
  });
});
