import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { EvaluationResult } from "@signalbox/rules/flows/evaluation.ts";
import { createSchemaValidator } from "@signalbox/rules/flows/validate-schema.ts";
import type { Json, JsonSchema } from "@signalbox/rules/json.ts";
import { beforeAll, expect, it } from "vitest";
import { bundleIsolatedPrograms } from "../../../isolated-programs-plugin.ts";
import type { JobRequest } from "../../kernel/jobs/job.ts";
import { createInProcessJobs } from "../../kernel/jobs/run-jobs.ts";
import { createFlowJobs } from "../jobs.ts";
import { evaluateAuthorProgram } from "./author-programs.ts";
import { createRunIsolated } from "./run-isolated.ts";

/** TypeScript declares WebAssembly only for the DOM. */
declare const WebAssembly: { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };

let run: <Request extends JobRequest>(request: Request) => Promise<EvaluationResult>;
beforeAll(async () => {
  const { resolve } = createRequire(import.meta.url);
  const file = await readFile(resolve("@jitl/quickjs-wasmfile-release-sync/wasm"));
  const engine = await WebAssembly.compile(file);
  const runIsolated = createRunIsolated(engine, await bundleIsolatedPrograms());
  const runJob = createInProcessJobs(createFlowJobs({ engine, runIsolated }));
  const caller = { tenant: "acme", signal: new AbortController().signal };
  run = (request) => runJob(request, caller);
});

const transform = (expression: string, data: Json = {}, timeoutMs = 100) =>
  run({ job: "jsonata", expression, data, timeoutMs });
const filter = (expressions: string[], data: Json = {}) =>
  run({ job: "jsonata-filters", expressions, data, timeoutMs: 100 });

const CATASTROPHIC = `$match("${"a".repeat(33)}!", /^(a+)+$/)`;
const OUT_OF_TIME = {
  log: [],
  error: "code_timeout",
  message: "exceeds the time limit of 100 ms",
};
const OUT_OF_MEMORY = {
  log: [],
  error: "code_out_of_memory",
  message: "exceeds the memory limit of 64 MB",
};

it.each([
  ["a regular expression", CATASTROPHIC],
  ["a regular expression of a replacement", `$replace("${"a".repeat(33)}!", /^(a+)+$/, "")`],
  ["an expression in $eval", `$eval('${CATASTROPHIC}')`],
  ["a tail recursion", "($f := function($n) { $f($n + 1) }; $f(0))"],
  ["long lists of empty items", '$length($pad("", 500000000))'],
  ["built-in functions on a long text", "$map([1..10000], function() { $uppercase(text) })"],
  ["a long loop", "$sum($map([1..50000], function($n) { $n * 2 }))"],
  ["searches for long texts", '$contains(text, $pad("", 200000, "a") & "b")'],
  ["searches for long separators", '$split(text, $pad("", 200000, "a") & "b")'],
  ["comparisons of long texts", '($t := text & ""; $map([1..10000], function() { $t < text }))'],
  ["long names", '$map([1..10000], function() { { text & "": 1 } })'],
])("limits the steps of %s, and evaluates others afterwards", async (_, expression) => {
  const data = { text: "a".repeat(500_000) };
  expect(await transform(expression, data)).toEqual(OUT_OF_TIME);
  expect(await filter(["true", expression], data)).toEqual(OUT_OF_TIME);
  expect(await transform("n + 1", { n: 2 })).toEqual({ log: [], output: 3 });
});

it.each([
  ["syntax that takes exponential time", `${"(".repeat(60)}a${" ?? b)".repeat(60)}`],
  ["a long list", "$count([1..1e7])"],
  ["a list that doubles", "($f := function($l) { $f($append($l, $l)) }; $f([1, 2]))"],
])("limits the memory of %s", async (_, expression) => {
  expect(await transform(expression, {}, 10_000)).toEqual(OUT_OF_MEMORY);
  expect(await filter(["true"])).toMatchObject({ log: [], output: [{ holds: true }] });
});

it.each([
  ['$length($replace(text, "\\n", " "))', 99_999],
  ["$length($replace(text, /\\n/, ' '))", 99_999],
  ["$count($split(text, /\\n/))", 10_000],
  ['$count($split(text, "\\n"))', 10_000],
  ["$count($match(text, /line/))", 10_000],
])("evaluates %s on a long text", async (expression, output) => {
  const text = Array.from({ length: 10_000 }, () => "some line").join("\n");
  expect(await transform(expression, { text }, 1000)).toEqual({ log: [], output });
});

it.each([
  ["$base64encode('grün')", "Z3L8bg=="],
  ["$base64encode('漢')", "Ig=="],
  ["$base64decode('eyJhIjoi8J-YgCJ9')", '{"a":"\u00f0\u009f\u0098\u0080"}'],
  ["$base64decode('YW Jj\n=')", "abc"],
  ["$base64decode('YWJjZ!!')", "abc"],
])("evaluates %s like Node", async (expression, output) => {
  const program = { job: "jsonata", expression, data: "{}", timeoutMs: 100 } as const;
  expect(await evaluateAuthorProgram(program)).toMatchObject({ output: JSON.stringify(output) });
  expect(await transform(expression)).toEqual({ log: [], output });
});

it("limits the depth of a recursion", async () => {
  const sumTo = (n: number) =>
    transform(`($f := function($n) { $n = 0 ? 0 : $n + $f($n - 1) }; $f(${n}))`, {}, 10_000);
  expect(await sumTo(50)).toEqual({ log: [], output: 1275 });
  expect(await sumTo(1e6)).toHaveProperty("error");
  expect(await sumTo(50)).toEqual({ log: [], output: 1275 });
});

it("keeps the results of concurrent evaluations apart, even if one exceeds a limit", async () => {
  const results = await Promise.all(
    ["1", CATASTROPHIC, "3", CATASTROPHIC, "5"].map((expression) => transform(expression)),
  );
  expect(results).toEqual([
    { log: [], output: 1 },
    OUT_OF_TIME,
    { log: [], output: 3 },
    OUT_OF_TIME,
    { log: [], output: 5 },
  ]);
});

it("limits the steps of all filters of a large event", async () => {
  const event = { tenant: "acme", source: "custom", type: "x" };
  const match = (...filters: string[]) =>
    run({
      job: "match",
      expressions: filters.map((filter) =>
        JSON.stringify({ trigger: { ...event, filter, isActive: true }, keys: ["a"] }),
      ),
      event,
      payload: { source: "custom", content_type: "application/json", headers: {} },
      data: new TextEncoder().encode('{"a":1}'),
      timeoutMs: 200,
    });
  expect(await match("data.a = 1", "data.a = 2")).toMatchObject({
    output: [{ verdict: { matched: true } }, { verdict: { matched: false } }],
  });
  expect(await match("data.a = 1", CATASTROPHIC)).toEqual(OUT_OF_TIME);
});

const DOUBLED = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => {
    const $ref = `#/$defs/d${index + 1}`;
    return [`d${index}`, { allOf: [{ $ref }, { $ref }] }];
  }),
);
it.each<[string, JsonSchema, Json]>([
  ["a pattern", { type: "string", pattern: "^(a+)+$" }, `${"a".repeat(33)}!`],
  [
    "a pattern of property names",
    { patternProperties: { "^(a+)+$": {} } },
    { [`${"a".repeat(33)}!`]: 1 },
  ],
  ["references", { $ref: "#/$defs/d0", $defs: { ...DOUBLED, d40: {} } }, 1],
])("limits the steps of %s in a JSON Schema", async (_, schema, value) => {
  const validate = createSchemaValidator(run, 100);
  expect(await validate([{ schema, value }])).toMatchObject([
    { isUnchecked: true, message: expect.stringContaining("exceeds the time limit of 100 ms") },
  ]);
});

it("validates references, formats and patterns", async () => {
  const validate = createSchemaValidator(run);
  const schema: JsonSchema = {
    $id: "https://example.com/root.json",
    $defs: { "a b": { type: "string", pattern: "^(?<first>.)\\k<first>$" } },
    properties: {
      pair: { $ref: "#/$defs/a%20b" },
      site: { type: "string", format: "uri" },
      again: { $ref: "root.json#/$defs/a%20b" },
    },
  };
  expect(
    await validate([
      { schema, value: { pair: "xx", site: "https://example.com", again: "yy" } },
      { schema, value: { pair: "xy" } },
      { schema, value: { again: "xy" } },
      { schema, value: { site: "no" } },
    ]),
  ).toMatchObject([undefined, { keys: ["pair"] }, { keys: ["again"] }, { keys: ["site"] }]);
});

it("evaluates all of JSONata", async () => {
  const cases: [string, Json][] = [
    ["$base64decode($base64encode('grün' ~> $encodeUrlComponent))", "gr%C3%BCn"],
    ["$fromMillis(0, '[Y0001]-[M01]-[D01] [F]')", "1970-01-01 thursday"],
    ["$formatNumber(1234.5, '#,##0.00')", "1,234.50"],
    ["$toMillis('2026-11-19T00:00:00Z')", 1795046400000],
    ["$replace('abc', /(?<x>b)(?=c)/, '[$1]')", "a[b]c"],
    ["$split('a1b22c', /\\d+/)", ["a", "b", "c"]],
    ["$sort([3, 1, 2], function($a, $b) { $a > $b })", [1, 2, 3]],
    ["$eval('1 + 1')", 2],
    ["text", "\u0000 \ud83d\ude00 \ud800"],
  ];
  for (const [expression, output] of cases)
    expect(await transform(expression, { text: "\u0000 \ud83d\ude00 \ud800" }, 1000)).toEqual({
      log: [],
      output,
    });
  expect(await transform("$error('no luck')")).toMatchObject({
    error: "code_failed",
    message: expect.stringContaining("no luck"),
  });
  expect(
    await run({
      job: "jsonata-analysis",
      expressions: ["nodes.a", "("],
      data: null,
      timeoutMs: 100,
    }),
  ).toMatchObject({ output: [{ nodes: [{ slug: "a" }] }, { problem: expect.any(String) }] });
});
