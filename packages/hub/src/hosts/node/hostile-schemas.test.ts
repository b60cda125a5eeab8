/** Schemas and values that are slow to validate: each ends within the deadline, in the sandbox. */
import type { Evaluation } from "@signalbox/rules/flows/evaluation.ts";
import { schemaProblem } from "@signalbox/rules/flows/schema-problem.ts";
import { createSchemaValidator } from "@signalbox/rules/flows/validate-schema.ts";
import type { Json, JsonSchema } from "@signalbox/rules/json.ts";
import { afterAll, describe, expect, it } from "vitest";
import { withoutBlocking } from "../../../../../test/support/main-thread-cpu.ts";
import { createJobWorkers } from "./job-workers.ts";

const TIMEOUT_MS = 200;

const workers = createJobWorkers();
afterAll(() => workers.close());
let evaluations = 0;
const evaluate = (evaluation: Evaluation) => {
  evaluations += 1;
  return workers.runJob(evaluation, { tenant: "acme", signal: new AbortController().signal });
};
const validate = createSchemaValidator(evaluate, TIMEOUT_MS);

const many = <Value>(amount: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: amount }, (_, index) => make(index));
const members = (amount: number, value: Json, name = "k"): { [name: string]: Json } =>
  Object.fromEntries(many(amount, (index) => [name + index, value]));
const nest = (depth: number, inner: Json, wrap: (inner: Json) => Json): Json =>
  many(depth, () => undefined).reduce<Json>(wrap, inner);

const objects = (amount: number): Json => many(amount, () => ({}));
const numbers = many(20_000, (index) => index);
const kinds = ["L", "N", "Lu", "P", "Script=Latin", "Script_Extensions=Han", "Emoji", "Cased"];
const classes = (length: number): string => {
  const all = many(length / 5, (index) => `\\p{${kinds[index % kinds.length]}}`).join("");
  return `[${all.slice(0, all.lastIndexOf("\\p", length))}]`;
};
const deep = nest(190, { minimum: 1 }, (inner) => ({ items: inner }));
const deepValue = nest(190, 0, (inner) => [inner]);
const veryDeep = nest(900, { minimum: 1 }, (inner) => ({ items: inner }));
const veryDeepValue = nest(900, 0, (inner) => [inner]);

function nestedAllOf(depth: number): JsonSchema {
  const inner = nest(depth, { additionalProperties: true }, (part) => ({ allOf: [part] }));
  return { allOf: [inner], unevaluatedProperties: false };
}

const hostile: [string, JsonSchema, Json][] = [
  ["patternProperties", { items: { patternProperties: members(9000, true) } }, objects(5000)],
  ["const of an object", { items: { not: { const: members(20_000, 1) } } }, objects(3000)],
  ["const of a small object", { items: { not: { const: {} } } }, many(300, () => members(500, 1))],
  ["const of an array", { items: { not: { const: numbers } } }, many(30, () => [...numbers])],
  ["enum of objects", { items: { enum: many(3000, (n) => members(50, n)) } }, objects(3000)],
  ["types", { items: { type: [...Array(50_000).fill("null"), "object"] } }, objects(20_000)],
  ["types as objects", { items: { type: many(2000, () => ({})) as Json } }, objects(2000)],
  [
    "Unicode classes in property names",
    { patternProperties: Object.fromEntries(many(100, (n) => [`${classes(1960)}x${n}`, true])) },
    { abc: 1 },
  ],
  [
    "Unicode classes that are not reached",
    { patternProperties: Object.fromEntries(many(100, (n) => [`^x${classes(130)}${n}`, true])) },
    { abc: 1 },
  ],
  ["Unicode classes in patterns", { allOf: many(500, (n) => ({ pattern: `\\p{L}${n}$` })) }, "é"],
  ["regular expressions", { items: { format: "regex" } }, many(10, () => classes(25_000))],
  [
    "short regular expressions",
    { items: { format: "regex" } },
    many(9000, (n) => `${classes(150)}${n}`),
  ],
  ["empty groups", { pattern: `(?:(?:${"()".repeat(300)}){99}){99}` }, "a"],
  ["required", { items: { required: many(9000, (n) => `k${n}`) } }, objects(5000)],
  [
    "required properties that exist",
    { items: { required: Object.keys(members(500, 1)) } },
    many(500, () => members(500, 1)),
  ],
  ["required as arrays", { items: { required: many(20, () => numbers) } }, objects(5000)],
  ["dependentRequired", { items: { dependentRequired: members(9000, ["a"]) } }, objects(5000)],
  ["dependentSchemas", { items: { dependentSchemas: members(9000, true) } }, objects(5000)],
  ["dependencies", { items: { dependencies: members(9000, ["a"]) } }, objects(5000)],
  ["properties", { items: { properties: members(9000, true) } }, objects(5000)],
  ["$defs", { items: { $defs: members(9000, true) } }, objects(5000)],
  ["propertyNames", { propertyNames: { enum: many(5000, (n) => `x${n}`) } }, members(5000, 1)],
  ["minProperties", { allOf: many(1000, () => ({ minProperties: 1 })) }, members(9000, 1)],
  [
    "unevaluatedProperties",
    { allOf: many(1000, () => ({ unevaluatedProperties: true })) },
    members(5000, 1),
  ],
  ["unevaluatedItems", { allOf: many(1000, () => ({ unevaluatedItems: true })) }, numbers],
  [
    "items that are already evaluated",
    { allOf: [{ items: true }, ...many(900, () => ({ contains: {}, unevaluatedItems: false }))] },
    numbers,
  ],
  ["annotations of nested schemas", nestedAllOf(190), members(3000, 1)],
  ["annotations of very nested schemas", nestedAllOf(900), members(3000, 1)],
  ["anyOf", { items: { anyOf: many(1900, () => ({ type: "null" })) } }, numbers],
  ["oneOf", { items: { oneOf: many(1900, () => false) } }, numbers],
  ["uniqueItems", { items: { uniqueItems: true } }, many(200, () => many(900, (n) => ({ n })))],
  [
    "uniqueItems with members",
    { allOf: many(900, () => ({ uniqueItems: true })) },
    [members(9000, 1)],
  ],
  ["nested values", { contains: deep }, many(500, () => deepValue)],
  ["very nested values", { contains: veryDeep }, many(500, () => veryDeepValue)],
  [
    "nested values in anyOf",
    {
      contains: nest(
        90,
        nest(90, { minimum: 1 }, (items) => ({ items })),
        (schema) => ({ anyOf: [schema] }),
      ),
    },
    many(100, () => deepValue),
  ],
  ["messages of values", { anyOf: many(1000, (n) => ({ enum: [n, members(20, "x")] })) }, null],
  ["messages of types", { anyOf: many(1000, () => ({ type: Array(500).fill("null") })) }, 1],
  ["wrong arrays", { required: numbers, allOf: numbers, enum: numbers }, {}],
  ["wrong members", { properties: members(20_000, 5), dependentRequired: members(9000, 5) }, {}],
  ["a slow pattern", { pattern: "(?:a|b)*a(?:a|b){300}$" }, "ab".repeat(50_000)],
  ["an exponential pattern", { pattern: "^(a+)+$" }, `${"a".repeat(50)}!`],
  [
    "an exponential property name",
    { patternProperties: { "^(x+)+$": {} } },
    { [`${"x".repeat(50)}!`]: 1 },
  ],
  [
    "a pattern for many strings",
    { items: { pattern: "^(a+)+$" } },
    Array(10_000).fill("a".repeat(50)),
  ],
  ["a large pattern", { items: { pattern: "^(?:a|b{3000})" } }, Array(20_000).fill("a")],
  ["many schemas", { allOf: many(1000, () => ({ items: { minimum: 0 } })) }, numbers],
  ["a long enum", { items: { enum: numbers.toReversed() } }, numbers],
  [
    "a long enum in contains",
    { contains: { enum: [...numbers, "x"] } },
    numbers.map((n) => -n - 1),
  ],
  ["many uniqueItems", { allOf: many(1000, () => ({ uniqueItems: true })) }, numbers],
  ["lengths", { allOf: many(1000, () => ({ minLength: 1 })) }, "x".repeat(500_000)],
  ["decimal numbers", { items: { multipleOf: 5e-324 } }, numbers],
  ["long unique strings", { uniqueItems: true }, many(400, (n) => `${"x".repeat(9000)}${n}`)],
  [
    "long strings",
    { contains: { enum: Array(300).fill(`${"x".repeat(10_000)}a`) } },
    Array(300).fill(`${"x".repeat(10_000)}b`),
  ],
  ["hosts", { items: { format: "url" } }, Array(2000).fill(`http://${"\u4e00".repeat(900)}`)],
  ["formats", { allOf: many(1000, () => ({ format: "uri" })) }, `a:${"x".repeat(90_000)}`],
  ["a reference to itself", { $ref: "#" }, 1],
  [
    "references that double",
    {
      $ref: "#/$defs/d30",
      $defs: Object.fromEntries(
        many(31, (n) => [
          `d${n}`,
          n === 0 ? {} : { allOf: [{ $ref: `#/$defs/d${n - 1}` }, { $ref: `#/$defs/d${n - 1}` }] },
        ]),
      ),
    },
    1,
  ],
];

describe.each(hostile)("%s", (_, schema, value) => {
  it("is checked quickly when the flow is saved", async () => {
    const problem = await withoutBlocking(() => schemaProblem(schema));
    expect(problem === undefined || problem.length < 3000).toBe(true);
  });

  // Without a deadline, some of these validations would not end.
  it("is validated in the sandbox, or rejected because of its depth", async () => {
    const evaluationsBefore = evaluations;
    const [error] = await withoutBlocking(() => validate([{ schema, value }]));
    const message = error?.message ?? "";
    if (!/nested deeper/.test(message)) expect(evaluations).toBe(evaluationsBefore + 1);
    expect(message.length).toBeLessThanOrEqual(2001);
  });
});

it("accepts large schemas and values that are cheap to validate", async () => {
  const validateSlowly = createSchemaValidator(evaluate, 5000);
  const names = Object.fromEntries(many(800, (n) => [`k${n}`, true]));
  const large: [JsonSchema, Json][] = [
    [{ items: { patternProperties: { "^k": true } } }, objects(5000)],
    [{ items: { not: { const: names } } }, objects(1000)],
    [{ items: { minimum: 0 } }, numbers],
    [{ uniqueItems: true }, many(500, (n) => n)],
    [{ pattern: "^[a-z]+$" }, "x".repeat(200_000)],
  ];
  for (const [schema, value] of large)
    expect(await validateSlowly([{ schema, value }])).toEqual([undefined]);
});
