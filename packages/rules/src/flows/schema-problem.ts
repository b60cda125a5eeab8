/** Checks the JSON Schemas of flow authors. */
import { z } from "zod";
import { isObject, type Json, type JsonObject } from "../json.ts";
import { issuesOf, writePath } from "./issues.ts";
import { resolvePointer } from "./schema-errors.ts";
import { SCHEMA_KEYWORDS, subschemas } from "./subschemas.ts";

const MAX_LENGTH = 64_000;
/** The engine of regular expressions takes up to 0.1 ms to build the characters of each `\p{…}`. */
const MAX_UNICODE_CLASSES = 100;

/** Returns a message with the path of the first problem, or undefined. */
export function schemaProblem(schema: Json): string | undefined {
  if (!isObject(schema)) return "must be a JSON Schema that is an object";
  const text = JSON.stringify(schema);
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters as JSON`;
  if (text.split(/\\\\p\{/i).length > MAX_UNICODE_CLASSES)
    return `must use at most ${MAX_UNICODE_CLASSES} Unicode classes such as \\p{L}`;
  for (const { keys, schema: subschema } of subschemas(schema)) {
    const problem = referenceProblem(schema, subschema) ?? keywordProblem(subschema);
    if (problem) return `${writePath([...keys, ...problem.keys])}: ${problem.message}`;
  }
  return undefined;
}

interface Problem {
  keys: readonly PropertyKey[];
  message: string;
}

/** Rejected, because the schema is embedded in a larger one, and `embedSchema` adjusts only `$ref`. */
const UNSUPPORTED = ["$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"];

function referenceProblem(root: JsonObject, subschema: JsonObject): Problem | undefined {
  for (const keyword of UNSUPPORTED)
    if (Object.hasOwn(subschema, keyword))
      return { keys: [keyword], message: "is not supported: use $ref, such as #/$defs/name" };
  const { $ref } = subschema;
  if ($ref === undefined) return undefined;
  if (typeof $ref !== "string" || !/^#(?:\/|$)/.test($ref))
    return { keys: ["$ref"], message: "must be a pointer within the schema, such as #/$defs/name" };
  const target = resolvePointer(root, $ref);
  return isObject(target) || typeof target === "boolean"
    ? undefined
    : { keys: ["$ref"], message: `must point to a schema, but there is none at ${$ref}` };
}

function keywordProblem(subschema: JsonObject): Problem | undefined {
  for (const [keyword, value] of Object.entries(subschema)) {
    const { error } = KEYWORDS.get(keyword)?.safeParse(value) ?? {};
    const [issue] = error ? issuesOf(error) : [];
    if (issue) return { keys: [keyword, ...issue.keys], message: issue.message };
  }
  return undefined;
}

function isRegExp(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}

const TYPES = ["string", "number", "integer", "boolean", "array", "object", "null"] as const;

// Only the type of inner schemas is checked here: `subschemas` visits each of them.
const schema = z.union([z.boolean(), z.record(z.string(), z.unknown())]);
const schemas = z.array(schema).min(1);
const names = z.array(z.string());
const count = z.int().min(0);
const pattern = z.string().refine(isRegExp, "must be a regular expression");
const forEachKeyword = (keywords: readonly string[], value: z.ZodType) =>
  Object.fromEntries(keywords.map((keyword) => [keyword, value]));

const KEYWORDS: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries<z.ZodType>({
    ...forEachKeyword(SCHEMA_KEYWORDS.single, schema),
    ...forEachKeyword(SCHEMA_KEYWORDS.list, schemas),
    ...forEachKeyword(SCHEMA_KEYWORDS.named, z.record(z.string(), schema)),
    ...forEachKeyword(["minLength", "maxLength", "minItems", "maxItems"], count),
    ...forEachKeyword(["minContains", "maxContains", "minProperties", "maxProperties"], count),
    ...forEachKeyword(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], z.number()),
    pattern,
    patternProperties: z.record(pattern, schema),
    format: z.string(),
    // The forms of earlier drafts are allowed too.
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
