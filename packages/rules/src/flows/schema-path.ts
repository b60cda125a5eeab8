/** Finds the part of a JSON Schema that describes the value at a path. */
import { isObject, type Json, type JsonObject, type JsonSchema } from "../json.ts";
import { resolvePointer } from "./schema-errors.ts";
import { subschemas } from "./subschemas.ts";

export type SchemaAtPath =
  | { schema: JsonSchema }
  /** The path contains the name `missing`, but the object there can have only the names in `allowed`. */
  | { missing: string; allowed: readonly string[] };

/** Returns undefined if the schema does not determine the value at the path. */
export function schemaAt(
  root: JsonSchema,
  path: readonly (string | number)[],
): SchemaAtPath | undefined {
  let schema: JsonObject = root;
  let pointer = "";
  for (const key of path) {
    const resolved = resolveReference(root, schema, pointer);
    if (!resolved) return undefined;
    const { properties, additionalProperties, patternProperties, items } = resolved.schema;
    if (typeof key === "number") {
      if (!isObject(items)) return undefined;
      [schema, pointer] = [items, `${resolved.pointer}/items`];
      continue;
    }
    if (!isObject(properties)) return undefined;
    if (!Object.hasOwn(properties, key))
      return additionalProperties === false && patternProperties === undefined
        ? { missing: key, allowed: Object.keys(properties) }
        : undefined;
    const inner = properties[key];
    if (!isObject(inner)) return undefined;
    [schema, pointer] = [inner, `${resolved.pointer}/properties/${escapePointer(key)}`];
  }
  const extracted = extract(schema, pointer);
  return extracted && { schema: extracted };
}

/** The number is limited, because references can form a cycle. */
const MAX_REFERENCES = 20;

/**
 * Follows `$ref`. Returns undefined if a reference has no target in the root, and if the schema combines
 * other schemas, such as with `anyOf`.
 */
export function resolveReference(
  root: JsonSchema,
  start: JsonObject,
  startPointer = "",
): { schema: JsonObject; pointer: string } | undefined {
  let [schema, pointer] = [start, startPointer];
  for (let count = 0; schema.$ref !== undefined; count += 1) {
    const { $ref } = schema;
    if (count === MAX_REFERENCES || typeof $ref !== "string" || !$ref.startsWith("#"))
      return undefined;
    pointer = $ref.slice(1);
    const target: Json | undefined = resolvePointer(root, pointer);
    if (!isObject(target)) return undefined;
    schema = target;
  }
  const isCombined = ["allOf", "anyOf", "oneOf", "if", "not"].some((keyword) =>
    Object.hasOwn(schema, keyword),
  );
  return isCombined ? undefined : { schema, pointer };
}

/** Returns a copy that is a root schema, or undefined if it refers to other parts of the larger schema. */
function extract(schema: JsonObject, pointer: string): JsonSchema | undefined {
  const copy = structuredClone(schema);
  for (const { schema: subschema } of subschemas(copy)) {
    const { $ref } = subschema;
    if ($ref === undefined) continue;
    if (typeof $ref !== "string" || !$ref.startsWith(`#${pointer}`)) return undefined;
    subschema.$ref = `#${$ref.slice(1 + pointer.length)}`;
  }
  return copy;
}

export const escapePointer = (key: string): string =>
  key.replaceAll("~", "~0").replaceAll("/", "~1");
