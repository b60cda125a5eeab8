/** All that a check looks at is in its steps: schemas and values that would make it look for long. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Json, JsonSchema } from "../json.ts";
import { createEffort, type Effort } from "./effort.ts";
import { createCheck } from "./json-schema.ts";
import { schemaProblem } from "./schema-problem.ts";

const STEPS = 200_000;
/** A step may look at a few things. */
const LOOKS_PER_STEP = 5;
/** How many members an object has shows only when they are listed. */
const LISTED = 100_000;
const LOOKS_PER_CLASS = 2000;

/** JSON that says whenever something in it is looked at. */
function watch(json: Json, look: (things: number) => void): Json {
  const watched = new WeakMap<object, object>();
  const wrap = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const known = watched.get(value);
    if (known) return known;
    const proxy = new Proxy(value, {
      get(target, key, receiver) {
        look(1);
        return wrap(Reflect.get(target, key, receiver));
      },
      has(target, key) {
        look(1);
        return Reflect.has(target, key);
      },
      getOwnPropertyDescriptor(target, key) {
        look(1);
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
      ownKeys(target) {
        const keys = Reflect.ownKeys(target);
        look(keys.length);
        return keys;
      },
    });
    watched.set(value, proxy);
    return proxy;
  };
  return wrap(json) as Json;
}

const many = <Value>(amount: number, make: (nth: number) => Value): Value[] =>
  Array.from({ length: amount }, (_, nth) => make(nth));
const members = (amount: number, value: Json, name = "k"): { [name: string]: Json } =>
  Object.fromEntries(many(amount, (nth) => [name + nth, value]));
const nest = (depth: number, inner: Json, around: (inner: Json) => Json): Json =>
  many(depth, () => around).reduce<Json>((value, wrap) => wrap(value), inner);

const objects = (amount: number): Json => many(amount, () => ({}));
const numbers = many(20_000, (nth) => nth);
const kinds = ["L", "N", "Lu", "P", "Script=Latin", "Script_Extensions=Han", "Emoji", "Cased"];
const classes = (length: number): string => {
  const all = many(length / 5, (nth) => `\\p{${kinds[nth % kinds.length]}}`).join("");
  return `[${all.slice(0, all.lastIndexOf("\\p", length))}]`;
};
const deep = nest(900, { minimum: 1 }, (inner) => ({ items: inner }));
const deepValue = nest(900, 0, (inner) => [inner]);

const hostile: [string, JsonSchema, Json][] = [
  ["patterns of names", { items: { patternProperties: members(9000, true) } }, objects(5000)],
  ["const of an object", { items: { not: { const: members(20_000, 1) } } }, objects(3000)],
  ["const of a small object", { items: { not: { const: {} } } }, many(300, () => members(500, 1))],
  ["const of a list", { items: { not: { const: numbers } } }, many(300, () => [...numbers])],
  ["enum of objects", { items: { enum: many(3000, (n) => members(50, n)) } }, objects(3000)],
  ["types", { items: { type: [...Array(50_000).fill("null"), "object"] } }, objects(20_000)],
  ["types as objects", { items: { type: many(2000, () => ({})) as Json } }, objects(2000)],
  [
    "classes of Unicode in names",
    { patternProperties: Object.fromEntries(many(100, (n) => [`${classes(1960)}x${n}`, true])) },
    { abc: 1 },
  ],
  [
    "classes of Unicode that are not come to",
    { patternProperties: Object.fromEntries(many(100, (n) => [`^x${classes(130)}${n}`, true])) },
    { abc: 1 },
  ],
  ["classes of Unicode in texts", { allOf: many(500, (n) => ({ pattern: `\\p{L}${n}$` })) }, "é"],
  ["regular expressions", { items: { format: "regex" } }, many(10, () => classes(25_000))],
  [
    "short regular expressions",
    { items: { format: "regex" } },
    many(9000, (n) => `${classes(150)}${n}`),
  ],
  ["empty groups", { pattern: `(?:(?:${"()".repeat(300)}){99}){99}` }, "a"],
  ["required", { items: { required: many(9000, (n) => `k${n}`) } }, objects(5000)],
  [
    "required that is there",
    { items: { required: Object.keys(members(500, 1)) } },
    many(500, () => members(500, 1)),
  ],
  ["required as lists", { items: { required: many(100, () => numbers) } }, objects(5000)],
  ["dependentRequired", { items: { dependentRequired: members(9000, ["a"]) } }, objects(5000)],
  ["dependentSchemas", { items: { dependentSchemas: members(9000, true) } }, objects(5000)],
  ["dependencies", { items: { dependencies: members(9000, ["a"]) } }, objects(5000)],
  ["properties", { items: { properties: members(9000, true) } }, objects(5000)],
  ["$defs", { items: { $defs: members(9000, true) } }, objects(5000)],
  ["names", { propertyNames: { enum: many(5000, (n) => `x${n}`) } }, members(5000, 1)],
  ["members", { allOf: many(1000, () => ({ minProperties: 1 })) }, members(9000, 1)],
  [
    "members not known",
    { allOf: many(1000, () => ({ unevaluatedProperties: true })) },
    members(5000, 1),
  ],
  ["items not known", { allOf: many(1000, () => ({ unevaluatedItems: true })) }, numbers],
  [
    "items known already",
    { allOf: [{ items: true }, ...many(900, () => ({ contains: {}, unevaluatedItems: false }))] },
    numbers,
  ],
  ["what others have seen", nestedAllOf(900), members(3000, 1)],
  ["alternatives", { items: { anyOf: many(1900, () => ({ type: "null" })) } }, numbers],
  ["one of many", { items: { oneOf: many(1900, () => false) } }, numbers],
  ["items", { items: { uniqueItems: true } }, many(900, () => many(900, (n) => ({ n })))],
  ["items with members", { allOf: many(900, () => ({ uniqueItems: true })) }, [members(9000, 1)]],
  ["what lies deep", { contains: deep }, many(500, () => deepValue)],
  [
    "what lies deep in alternatives",
    { contains: nest(900, deep, (inner) => ({ anyOf: [inner] })) },
    many(100, () => deepValue),
  ],
  ["words of values", { anyOf: many(1000, (n) => ({ enum: [n, members(20, "x")] })) }, null],
  ["words of types", { anyOf: many(1000, () => ({ type: Array(500).fill("null") })) }, 1],
  ["wrong lists", { required: numbers, allOf: numbers, enum: numbers }, {}],
  ["wrong members", { properties: members(20_000, 5), dependentRequired: members(9000, 5) }, {}],
];

function nestedAllOf(depth: number): JsonSchema {
  const inner = nest(depth, { additionalProperties: true }, (part) => ({ allOf: [part] }));
  return { allOf: [inner], unevaluatedProperties: false };
}

describe("a hostile schema", () => {
  let looks = 0;
  let most = 0;
  const look = (things: number) => {
    looks += things;
    if (looks > most) throw new Error(`looks at more than ${most} things`);
  };
  beforeEach(() => {
    const Theirs = RegExp;
    // The engine makes classes of Unicode as it reads them.
    vi.stubGlobal("RegExp", function Watched(source: string, flags: string) {
      const made = source.match(/\\[pP]\{(?!Any)/g)?.length ?? 0;
      look(source.length + LOOKS_PER_CLASS * made);
      return new Theirs(source, flags);
    });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it.each(hostile)("with %s is read in time when it is published", (_, schema) => {
    looks = 0;
    most = 20 * JSON.stringify(schema).length + LISTED;
    const problem = schemaProblem(watch(schema, look));
    expect(problem === undefined || problem.length < 3000).toBe(true);
  });

  it.each(hostile)("with %s takes the steps that it counts", (_, schema, value) => {
    const { spend, spendOnce } = createEffort(STEPS);
    looks = 0;
    most = LISTED;
    const pay = (steps: number) => {
      most += LOOKS_PER_STEP * steps;
      spend(steps);
    };
    const effort: Effort = {
      spend: pay,
      spendOnce(name, steps) {
        most += LOOKS_PER_STEP * steps;
        spendOnce(name, steps);
      },
    };
    const check = createCheck(STEPS, effort);
    const error = check(watch(schema, look) as JsonSchema, watch(value, look));
    expect(error === undefined || error.message.length <= 2001).toBe(true);
    expect(looks).toBeLessThanOrEqual(LOOKS_PER_STEP * STEPS + LISTED);
  });
});
