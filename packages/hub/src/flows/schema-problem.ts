/** JSON Schemas that somebody wrote, before they are kept: what could not be checked later is refused. */
import { z } from "zod";
import { isObject, type Json, type JsonObject } from "../lib/json.ts";
import { createEffort, type Effort, TooMuch } from "./effort.ts";
import { issuesOf, writePath } from "./issues.ts";
import { compilePattern } from "./linear-pattern.ts";

const MOST_PARTS = 2000;
/** Of all patterns of a schema together, to make them. */
const PATTERN_STEPS = 100_000;

/** What is wrong with a schema, and where; or undefined. */
export function schemaProblem(schema: Json): string | undefined {
  if (!isObject(schema)) return "must be a JSON Schema as an object";
  const effort = createEffort(PATTERN_STEPS);
  try {
    let parts = 0;
    for (const [keys, part] of partsOf(schema)) {
      if (++parts > MOST_PARTS) return `must have at most ${MOST_PARTS} schemas within it`;
      const problem = partProblem(part, effort);
      if (problem) return `${writePath([...keys, ...problem.keys])}: ${problem.message}`;
    }
    return undefined;
  } catch (error) {
    if (error instanceof TooMuch) return "has too many patterns, or too large ones";
    throw error;
  }
}

interface Problem {
  keys: PropertyKey[];
  message: string;
}

function partProblem(part: JsonObject, effort: Effort): Problem | undefined {
  // It is put into a larger one, where references would lead elsewhere.
  for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef", "$id"])
    if (Object.hasOwn(part, keyword))
      return { keys: [keyword], message: "is not allowed here: write the schema out" };
  const { error } = keywords.safeParse(part);
  const [issue] = error ? issuesOf(error) : [];
  if (issue) return { keys: [...issue.keys], message: issue.message };
  const patterns = [
    ...(typeof part.pattern === "string" ? [{ keys: ["pattern"], source: part.pattern }] : []),
    ...Object.keys(isObject(part.patternProperties) ? part.patternProperties : {}).map(
      (source) => ({ keys: ["patternProperties", source], source }),
    ),
  ];
  for (const { keys, source } of patterns) {
    const compiled = compilePattern(source, effort);
    if ("problem" in compiled) return { keys, message: compiled.problem };
  }
  return undefined;
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
const each = <Value extends z.ZodType>(words: readonly string[], value: Value) =>
  Object.fromEntries(words.map((word) => [word, value.optional()]));

const keywords = z.looseObject({
  ...each(WITHIN.one, schema),
  ...each(WITHIN.list, schemas),
  ...each(WITHIN.named, named),
  ...each(["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"], amount),
  ...each(["minProperties", "maxProperties"], amount),
  ...each(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], z.number()),
  ...each(["pattern", "format"], z.string()),
  // Older drafts have both forms here.
  items: z.union([schema, schemas]).optional(),
  dependencies: z.record(z.string(), z.union([schema, names])).optional(),
  dependentRequired: z.record(z.string(), names).optional(),
  enum: z.array(z.unknown()).min(1).optional(),
  multipleOf: z.number().gt(0).optional(),
  required: names.optional(),
  type: z.union([z.enum(TYPES), z.array(z.enum(TYPES)).min(1)]).optional(),
  uniqueItems: z.boolean().optional(),
});

/** Names of properties are no keywords, and examples no schemas. */
function* partsOf(schema: JsonObject): Generator<[PropertyKey[], JsonObject]> {
  const waiting: [PropertyKey[], Json][] = [[[], schema]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [keys, part] = next;
    if (!isObject(part)) continue;
    yield [keys, part];
    const put = (more: PropertyKey[], value: Json | undefined) => {
      if (value !== undefined) waiting.push([[...keys, ...more], value]);
    };
    for (const word of WITHIN.one) put([word], part[word]);
    for (const word of [...WITHIN.list, "items"]) {
      const value = part[word];
      if (Array.isArray(value)) for (const [nth, one] of value.entries()) put([word, nth], one);
      else put([word], value);
    }
    for (const word of [...WITHIN.named, "dependencies"])
      for (const [name, one] of Object.entries(isObject(part[word]) ? part[word] : {}))
        put([word, name], one);
  }
}
