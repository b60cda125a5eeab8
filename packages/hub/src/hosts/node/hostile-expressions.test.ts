/**
 * Expressions that need unlimited time or memory, in the real sandbox: each ends within its limits,
 * and the event loop stays responsive.
 */
import { evaluateBatch } from "@signalbox/rules/flows/evaluate-batch.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { afterAll, describe, expect, it } from "vitest";
import { withoutBlocking } from "../../../../../test/support/main-thread-cpu.ts";
import { evaluateFilters } from "../../flows/matching/evaluate-filters.ts";
import type { JobCaller } from "../../kernel/jobs/job.ts";
import { createJobWorkers } from "./job-workers.ts";

const workers = createJobWorkers({ maxWorkers: 3 });
afterAll(workers.close);
const caller: JobCaller = { tenant: "acme", signal: new AbortController().signal };

const LIMIT_MESSAGES =
  /time limit|memory limit|Invalid string length|sequence|overflow|out of range|D20/;

/** Nests `{"a": x, "b": x}` n times: linear in memory, exponential to traverse. */
const selfNested = '$f := function($o, $n) { $n = 0 ? $o : $f({"a": $o, "b": $o}, $n - 1) }';
const doubledText = "$d := function($s, $n) { $n = 0 ? $s : $d($s & $s, $n - 1) }";
const doubledList = "$g := function($l, $n) { $n = 0 ? $l : $g($append($l, $l), $n - 1) }";
const nested = (levels: number, operator: string) =>
  `${"(".repeat(levels)}a${` ${operator} b)`.repeat(levels)}`;

const data: Json = {
  text: "a".repeat(100_000),
  braces: "{".repeat(50_000),
  numbers: Array.from({ length: 5000 }, (_, n) => (n * 7919) % 5003),
  keys: Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`k${n}`, [n]])),
};

describe("an expression", () => {
  it.each([
    ["a regular expression that backtracks", '$match($pad("", 60, "a") & "b", /^(a+)+$/)'],
    ["a backtracking expression on the input", "$contains(text & 'b', /^(a|a)*$/)"],
    ["a backtracking expression in $replace", '$replace($pad("", 60, "a") & "b", /(a*)*c/, "")'],
    ["a backtracking expression in $split", '$split($pad("", 60, "x") & "y", /(x+x+)+z/)'],
    [
      "a backtracking expression in $eval",
      '$eval("$match($pad(\\"\\", 60, \\"a\\") & \\"b\\", /^(a+)+$/)")',
    ],
    ["endless recursion", "($f := function($n) { $f($n + 1) }; $f(1))"],
    ["deep recursion", "($f := function($n) { 1 + $f($n + 1) }; $f(1))"],
    ["nested loops", "$map([1..9999], function($a) { $map([1..9999], function($b) { $a }) })"],
    ["comparing an exponential value", `(${selfNested}; $f({}, 40) = $f({}, 40))`],
    ["serializing an exponential value", `(${selfNested}; $string($f({}, 40)))`],
    ["traversing an exponential value", `(${selfNested}; $f({}, 40).**)`],
    ["searching an exponential value", `(${selfNested}; $f({}, 40) in [$f({}, 40)])`],
    ["returning an exponential value", `(${selfNested}; $f({}, 40))`],
    ["long texts", `(${doubledText}; $length($d("aaaaaaaaaa", 25)))`],
    ["long texts in pieces", `(${doubledText}; $split($d("aaaaaaaaaa", 25), ""))`],
    ["long texts in upper case", `(${doubledText}; $uppercase($d("aaaaaaaaaa", 25)))`],
    ["padding", '$length($pad("", 500000000))'],
    ["padding by a native call", '$reduce(["a", 400000000, 5], $pad)'],
    ["long lists", `(${doubledList}; $sort($g([1..1000], 20)))`],
    ["longer lists", `(${doubledList}; $count($g([1..9999999], 10)))`],
    ["ranges", "[[1..9999999], [1..9999999], [1..9999999], [1..9999999], [1..9999999]]"],
    ["replacing", '$replace($pad("", 99999, "a"), "a", $pad("", 99999))'],
    ["joining", `(${doubledList}; $join($g(["a"], 16), $pad("", 99999)))`],
    ["grouping", "$merge([1..9999999].{ $string($): $ })"],
    ["distinct values", "$distinct([1..999999])"],
    ["zipping", "$zip([1..9999999], [1..9999999], [1..9999999], [1..9999999])"],
    ["an error message", "$error(braces & braces & braces & braces & braces & braces)"],
    [
      "a date picture",
      '$toMillis($pad("", 300, "1") & "x", $pad("", 900, "[Y]") & "[M][D][H][m]")',
    ],
    ["an integer picture", '$formatInteger(12345, $pad("0", 2000000, ",0"))'],
    ["nested ??", nested(60, "??")],
    ["nested ?:", nested(60, "?:")],
    ["nested ?? after a comment", `/**/*.${nested(30, "??")}`],
    ["nested ?? between bars", `${"|".repeat(30)}a${" ?? b|c|".repeat(30)}`],
    ["a function signature", `function($x)<${"x+".repeat(20)}n:x>{1}(${"1,".repeat(30)}1)`],
  ])("ends within its limits: %s", async (_, expression) => {
    const result = await withoutBlocking(() =>
      workers.runJob({ job: "jsonata", expression, data, timeoutMs: 300 }, caller),
    );
    // Some of these fail for another reason, or succeed: they only have to end.
    if ("error" in result && result.error !== "code_failed")
      expect(result.message).toMatch(LIMIT_MESSAGES);
  });

  it("can be evaluated after all of the above", async () => {
    const evaluation = { job: "jsonata", expression: "1 + 1", data, timeoutMs: 5000 } as const;
    expect(await workers.runJob(evaluation, caller)).toEqual({ log: [], output: 2 });
  });
});

describe("the filters of one event", () => {
  const filters = evaluateFilters({ runJob: workers.runJob, now: Date.now }, "acme");
  const bomb = '$match($pad("", 60, "a") & "b", /^(a+)+$/)';
  const exceeded = { problem: "expression exceeds the time limit of 1 s" };

  it("return their results even if one of them exceeds the time limit", async () => {
    const results = await withoutBlocking(() =>
      filters(["n = 1", bomb, "n = 2", "n > 0"], { n: 1 }),
    );
    expect(results).toMatchObject([{ holds: true }, exceeded, { holds: false }, { holds: true }]);
  });

  it("return their results even if one of them exhausts the memory", async () => {
    const large = `(${doubledText}; $split($d("aaaaaaaaaa", 25), ""))`;
    const [first, second, third] = await withoutBlocking(() =>
      filters(["n = 1", large, "n > 0"], { n: 1 }),
    );
    expect([first, third]).toMatchObject([{ holds: true }, { holds: true }]);
    expect(second).toMatchObject({ problem: expect.stringMatching(LIMIT_MESSAGES) });
  });

  it("work on large data", async () => {
    const event = {
      text: "x".repeat(2_000_000),
      list: Array.from({ length: 5000 }, (_, n) => ({ n })),
    };
    const filter = '$contains(text, "x") and $count(list) = 5000 and $contains(text, /x$/)';
    expect(await filters([filter], event)).toEqual([{ holds: true }]);
  });
});

it("returns the analyses of the other expressions if one exceeds the time limit", async () => {
  const results = await withoutBlocking(() =>
    evaluateBatch(
      (expressions) =>
        workers.runJob(
          { job: "jsonata-analysis", expressions, data: null, timeoutMs: 500 },
          caller,
        ),
      ["nodes.a", nested(60, "??"), "input.("],
    ),
  );
  expect(results).toEqual([
    { nodes: [{ slug: "a", end: 7 }], readsSecrets: false },
    { problem: "expression exceeds the time limit of 500 ms", isOverrun: true },
    { problem: expect.stringContaining("at character"), nodes: [], readsSecrets: false },
  ]);
});
