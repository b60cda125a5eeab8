/** JSON Schemas that somebody wrote, before they are kept: what could not be checked later is refused. */
import { z } from "zod";
import { isObject, type Json, type JsonObject } from "../json.ts";
import { createEffort, type Effort, TooMuch } from "./effort.ts";
import { issuesOf, writePath } from "./issues.ts";
import { compilePattern } from "./linear-pattern.ts";

/** With those that are only true or false. */
const MOST_PARTS = 2000;
/** In enum, const, required and what else names members, with all that is within them. */
const MOST_VALUES = 5000;
/** Of all patterns of a schema together, to make them. */
const PATTERN_STEPS = 200_000;

/** What is wrong with a schema, and where; or undefined. */
export function schemaProblem(schema: Json): string | undefined {
  if (!isObject(schema)) return "must be a JSON Schema as an object";
  const effort = createEffort(PATTERN_STEPS);
  try {
    for (const [keys, part] of partsOf(schema)) {
      const problem = partProblem(part, effort);
      if (problem) return tell(keys, problem);
    }
    return undefined;
  } catch (error) {
    if (error instanceof TooLarge) return tell([], error);
    throw error;
  }
}

const tell = (above: PropertyKey[], { keys, message }: Problem): string =>
  `${writePath([...above, ...keys])}: ${message}`;

interface Problem {
  keys: PropertyKey[];
  message: string;
}

function partProblem(part: JsonObject, effort: Effort): Problem | undefined {
  // It is put into a larger one, where references would lead elsewhere.
  for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef", "$id"])
    if (Object.hasOwn(part, keyword))
      return { keys: [keyword], message: "is not allowed here: write the schema out" };
  for (const [word, value] of Object.entries(part)) {
    const { error } = KEYWORDS.get(word)?.safeParse(value) ?? {};
    const [issue] = error ? issuesOf(error) : [];
    if (issue) return { keys: [word, ...issue.keys], message: issue.message };
  }
  const patterns = [
    ...(typeof part.pattern === "string" ? [{ keys: ["pattern"], source: part.pattern }] : []),
    ...Object.keys(isObject(part.patternProperties) ? part.patternProperties : {}).map(
      (source) => ({ keys: ["patternProperties", source], source }),
    ),
  ];
  for (const { keys, source } of patterns) {
    const message = patternProblem(source, effort);
    if (message) return { keys, message };
  }
  return undefined;
}

function patternProblem(source: string, effort: Effort): string | undefined {
  try {
    const compiled = compilePattern(source, effort);
    return "problem" in compiled ? compiled.problem : undefined;
  } catch (error) {
    if (error instanceof TooMuch)
      return "is one too many: a schema has too many patterns, or too large ones";
    throw error;
  }
}

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;

// Not their own schemas: each is a part of its own.
const schema = z.union([z.boolean(), z.record(z.string(), z.unknown())]);
const schemas = z.array(schema).min(1);
const named = z.record(z.string(), schema);
const names = z.array(z.string());
const amount = z.int().min(0);
const WITHIN = {
  one: [
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
  ],
  list: ["allOf", "anyOf", "oneOf", "prefixItems"],
  named: ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"],
} as const;
const each = (words: readonly string[], value: z.ZodType) =>
  Object.fromEntries(words.map((word) => [word, value]));

/** One by one: a schema of thousands of parts uses few in each. */
const KEYWORDS: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries<z.ZodType>({
    ...each(WITHIN.one, schema),
    ...each(WITHIN.list, schemas),
    ...each(WITHIN.named, named),
    ...each(
      ["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"],
      amount,
    ),
    ...each(["minProperties", "maxProperties"], amount),
    ...each(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], z.number()),
    ...each(["pattern", "format"], z.string()),
    // Older drafts have both forms here.
    items: z.union([schema, schemas]),
    dependencies: z.record(z.string(), z.union([schema, names])),
    dependentRequired: z.record(z.string(), names),
    enum: z.array(z.unknown()).min(1),
    multipleOf: z.number().gt(0),
    required: names,
    type: z.union([
      z.enum(TYPES),
      z
        .array(z.enum(TYPES))
        .min(1)
        .refine((types) => new Set(types).size === types.length, "must not list a type twice"),
    ]),
    uniqueItems: z.boolean(),
  }),
);

class TooLarge extends Error {
  readonly keys: PropertyKey[];
  constructor(keys: PropertyKey[], message: string) {
    super(message);
    this.keys = keys;
  }
}

/**
 * Names of properties are no keywords, and examples no schemas. What a part holds is counted before
 * anybody looks at the part.
 */
function* partsOf(schema: JsonObject): Generator<[PropertyKey[], JsonObject]> {
  const waiting: [PropertyKey[], Json][] = [[[], schema]];
  let parts = 1;
  let values = 0;
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [keys, part] = next;
    if (!isObject(part)) continue;
    const put = (more: PropertyKey[], value: Json | undefined) => {
      if (value === undefined) return;
      if (++parts > MOST_PARTS)
        throw new TooLarge(
          [...keys, ...more.slice(0, 1)],
          `it must have at most ${MOST_PARTS} schemas within it`,
        );
      waiting.push([[...keys, ...more], value]);
    };
    const count = (more: PropertyKey[], value: Json | undefined) => {
      values += sizeOf(value, MOST_VALUES - values);
      if (values > MOST_VALUES)
        throw new TooLarge(
          [...keys, ...more],
          `there must be at most ${MOST_VALUES} names and values in a schema`,
        );
    };
    for (const word of WITHIN.one) put([word], part[word]);
    for (const word of [...WITHIN.list, "items"]) {
      const value = part[word];
      if (Array.isArray(value)) for (const [nth, one] of value.entries()) put([word, nth], one);
      else put([word], value);
    }
    for (const word of [...WITHIN.named, "dependencies"])
      for (const [name, one] of Object.entries(isObject(part[word]) ? part[word] : {})) {
        put([word, name], one);
        if (Array.isArray(one)) count([word, name], one);
      }
    for (const word of ["const", "dependentRequired", "enum", "required"])
      count([word], part[word]);
    const { type } = part;
    if (Array.isArray(type) && type.length > TYPES.length)
      throw new TooLarge([...keys, "type"], `must list at most ${TYPES.length} types`);
    yield [keys, part];
  }
}

/** How many values there are, with all within them; no further than one more than `most`. */
function sizeOf(value: Json | undefined, most: number): number {
  let size = 0;
  const waiting = value === undefined ? [] : [value];
  for (let next = waiting.pop(); next !== undefined && size <= most; next = waiting.pop()) {
    size++;
    if (typeof next === "object" && next !== null)
      for (const one of Object.values(next)) waiting.push(one);
  }
  return size;
}
