/** Finds the part of a JSON Schema that describes the value at a path. */
import { isObject, type Json, type JsonObject, type JsonSchema } from "../json.ts";
import { resolvePointer } from "./schema-errors.ts";
import { subschemas } from "./subschemas.ts";

export type SchemaAtPath =
  | { schema: JsonSchema }
  /** The schema allows no value at the path. `known` are the names that it allows instead. */
  | { missing: string; known: readonly string[] };

/** Undefined if the schema does not tell. */
export function schemaAt(
  root: JsonSchema,
  path: readonly (string | number)[],
): SchemaAtPath | undefined {
  let schema: JsonObject = root;
  let pointer = "";
  for (const key of path) {
    const found = resolveReference(root, schema, pointer);
    if (!found) return undefined;
    const { properties, additionalProperties, patternProperties, items } = found.schema;
    if (typeof key === "number") {
      if (!isObject(items)) return undefined;
      [schema, pointer] = [items, `${found.pointer}/items`];
      continue;
    }
    if (!isObject(properties)) return undefined;
    if (!Object.hasOwn(properties, key))
      return additionalProperties === false && patternProperties === undefined
        ? { missing: key, known: Object.keys(properties) }
        : undefined;
    const inner = properties[key];
    if (!isObject(inner)) return undefined;
    [schema, pointer] = [inner, `${found.pointer}/properties/${escapePointer(key)}`];
  }
  const extracted = extract(schema, pointer);
  return extracted && { schema: extracted };
}

const MAX_REFERENCES = 20;

/** Follows `$ref`. Undefined if several schemas apply, or the reference leads elsewhere. */
export function resolveReference(
  root: JsonSchema,
  given: JsonObject,
  from = "",
): { schema: JsonObject; pointer: string } | undefined {
  let [schema, pointer] = [given, from];
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

/** A copy that is a root schema. Undefined if it refers to other parts of the larger schema. */
function extract(schema: JsonObject, pointer: string): JsonSchema | undefined {
  const copy = structuredClone(schema);
  for (const { schema: part } of subschemas(copy)) {
    if (part.$ref === undefined) continue;
    if (typeof part.$ref !== "string" || !part.$ref.startsWith(`#${pointer}`)) return undefined;
    part.$ref = `#${part.$ref.slice(1 + pointer.length)}`;
  }
  return copy;
}

export const escapePointer = (key: string): string =>
  key.replaceAll("~", "~0").replaceAll("/", "~1");
