import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { createExpressions } from "./expression.ts";

const { check, evaluate } = createExpressions({ length: 2000, steps: 20_000, timeMs: 500 });
const resultOf = async (text: string, data: Json = {}) => {
  const result = await evaluate(text, data);
  return "value" in result ? JSON.parse(JSON.stringify(result.value ?? null)) : result;
};

/** `{"a": x, "b": x}` of itself, over and over: small to make, without end to walk through. */
const twice = '$f := function($o, $n) { $n = 0 ? $o : $f({"a": $o, "b": $o}, $n - 1) }';
const doubled = "$d := function($s, $n) { $n = 0 ? $s : $d($s & $s, $n - 1) }";
const grown = "$g := function($l, $n) { $n = 0 ? $l : $g($append($l, $l), $n - 1) }";

describe("a single step that would take forever, or all memory, is not taken", () => {
  it.each([
    ["comparing what contains itself many times", `(${twice}; $f({}, 40) = $f({}, 40))`],
    ["writing it", `(${twice}; $string($f({}, 40)))`],
    ["walking through it", `(${twice}; $f({}, 40).**)`],
    ["looking for it", `(${twice}; $f({}, 40) in [$f({}, 40)])`],
    ["giving it back", `(${twice}; $f({}, 40))`],
    ["keys made while grouping", `(${twice}; $x := $f({}, 12); [1..300].$x)`],
    ["long texts", `(${doubled}; $length($d("aaaaaaaaaa", 25)))`],
    ["long texts in pieces", `(${doubled}; $split($d("aaaaaaaaaa", 25), ""))`],
    [
      "one text many times",
      `(${doubled}; ${grown}; $map($g([$d("aaaaaaaaaa", 14)], 12), $split(?, "")))`,
    ],
    ["long lists", `(${grown}; $sort($g([1..1000], 20)))`],
    ["replacing", '$replace($pad("", 99999, "a"), "a", $pad("", 99999))'],
    ["joining", `(${grown}; $join($g(["a"], 16), $pad("", 99999)))`],
    ["ranges", "$count([1..99999])"],
    ["pictures of times", `$toMillis("${"1".repeat(99)}x", "[Y][M][D][H][m][s][f]")`],
  ])("%s", async (_, text) => {
    expect(check(text)).toBeUndefined();
    expect(await evaluate(text, {})).toEqual({
      problem: expect.stringMatching(
        /takes more than|more than it may|too long a text|picture|Invalid string|sequence/,
      ),
    });
  });
});

describe("functions that are not the library's own do as it does", () => {
  it.each<[string, Json]>([
    ["$distinct([1, 2, 1, '1', true, null, null])", [1, 2, "1", true, null]],
    ['$distinct([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}])', [{ a: 1, b: 2 }, { a: 1 }]],
    [
      "$distinct([[1, 2], [2, 1], [1, 2]])",
      [
        [1, 2],
        [2, 1],
      ],
    ],
    ["$distinct(list.n)", 1],
    ["$distinct([1, 1])", [1]],
    ["$distinct('a')", "a"],
    ["$distinct(nothing)", null],
    ["$count($distinct([1..2000]))", 2000],
    ['$toMillis("2026-01-31T09:00:00Z")', 1769850000000],
    ['$toMillis("2026")', 1767225600000],
    ["$toMillis(nothing)", null],
  ])("%s", async (text, value) => {
    expect(await resultOf(text, { list: [{ n: 1 }, { n: 1 }] })).toEqual(value);
  });

  it("$distinct keeps the first of each, whatever they are", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue({ maxDepth: 2 })), async (list) => {
        const data = JSON.parse(JSON.stringify({ list })) as { list: Json[] };
        const slow = data.list.filter(
          (one, at) => data.list.findIndex((other) => equal(one, other)) === at,
        );
        const result = await resultOf("$count($distinct(list))", data);
        expect(result).toBe(slow.length);
      }),
    );
  });

  it("no time is no number", async () => {
    expect(await resultOf('$toMillis("tomorrow")')).toEqual({
      problem: expect.stringContaining("ISO 8601"),
    });
  });
});

it.each([
  ["nested through a comment", `/**/*.${"(".repeat(30)}a${" ?? b)".repeat(30)}`],
  ["nested after what looks like a quote", `a"b & ${"(".repeat(30)}a${" ?? b)".repeat(30)}`],
  ["nested by bars", `${"|".repeat(30)}a${" ?? b|c|".repeat(30)}`],
  ["much at each of a few levels", `${"(".repeat(8)}a${`${" ?? b".repeat(40)})`.repeat(8)}`],
  ["long paths", "**.".repeat(6600)],
  ["deep brackets", "(".repeat(19_000)],
  ["a signature that can hang", `function($x)<${"x+".repeat(20)}n:x>{1}(1)`],
])("a text that would keep the parser busy is refused: %s", (_, text) => {
  const { check } = createExpressions({ length: 20_000, steps: 20_000, timeMs: 500 });
  expect(check(text)).toMatch(/levels deep|too much to read|signature/);
});

it("what an author has it say is kept short", async () => {
  const { problem } = (await evaluate('$error($pad("", 900000, "{"))', {})) as { problem: string };
  expect(problem.length).toBeLessThan(1000);
});

it("large data can be worked with, as long as little is made of it", async () => {
  const data = {
    text: "x".repeat(1_000_000),
    list: Array.from({ length: 5000 }, (_, n) => ({ n })),
  };
  expect(await resultOf('$contains(text, "x") and $count(list) = 5000', data)).toBe(true);
});

const equal = (a: Json, b: Json): boolean => {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
};

it("a text that the parser would double again and again is refused, an ordinary one is not", () => {
  const nested = (levels: number) => `${"(".repeat(levels)}a${" ?: 1)".repeat(levels)}`;
  expect(check(nested(8))).toBeUndefined();
  expect(check(nested(60))).toBe("has ?? or ?: within each other more than 8 levels deep");
  const fields = Array.from({ length: 40 }, (_, nth) => `"k${nth}": (a.b ?? ${nth}) ?: 1`);
  expect(check(`{${fields.join(", ")}}`)).toBeUndefined();
  expect(check(`a${" ?? b".repeat(100)}`)).toBeUndefined();
});
