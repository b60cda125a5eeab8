/** Visits the schemas inside a JSON Schema. */
import { isObject, type Json, type JsonObject, type JsonSchema } from "../json.ts";

/** Keywords that contain one schema, a list of schemas, or an object of schemas by name. */
export const SCHEMA_KEYWORDS = {
  single: [
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

// In earlier drafts, `items` may be a list of schemas, and a member of `dependencies` a list of names.
const singleOrList: ReadonlySet<string> = new Set([
  ...SCHEMA_KEYWORDS.single,
  ...SCHEMA_KEYWORDS.list,
  "items",
]);
const named: ReadonlySet<string> = new Set([...SCHEMA_KEYWORDS.named, "dependencies"]);

export interface Subschema {
  /** The path from the root schema. */
  keys: PropertyKey[];
  schema: JsonObject;
}

/** Yields the schema itself and all schemas inside it, except `true` and `false`. */
export function* subschemas(root: JsonObject): Generator<Subschema> {
  const pending: { keys: PropertyKey[]; value: Json }[] = [{ keys: [], value: root }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { keys, value: schema } = next;
    if (!isObject(schema)) continue;
    yield { keys, schema };
    for (const [keyword, value] of Object.entries(schema)) {
      const isNamed = named.has(keyword) && isObject(value);
      if (isNamed || (singleOrList.has(keyword) && Array.isArray(value)))
        for (const [key, inner] of Object.entries(value as Json[] | JsonObject))
          pending.push({ keys: [...keys, keyword, isNamed ? key : Number(key)], value: inner });
      else if (singleOrList.has(keyword)) pending.push({ keys: [...keys, keyword], value });
    }
  }
}

/** Returns a copy whose references are adjusted to the location `pointer` in a larger schema. */
export function embedSchema(schema: JsonSchema, pointer: string): JsonSchema {
  const copy = structuredClone(schema);
  for (const { schema: subschema } of subschemas(copy))
    if (typeof subschema.$ref === "string" && subschema.$ref.startsWith("#"))
      subschema.$ref = `#${pointer}${subschema.$ref.slice(1)}`;
  return copy;
}
