/** Derives the schema of a rendered value from its templates. */
import type { Json, JsonSchema } from "../json.ts";
import { escapePointer } from "./schema-path.ts";
import { embedSchema } from "./subschemas.ts";
import { parseTemplate, type Reference, soleReference } from "./template.ts";

/**
 * A string that is a single reference can have a value of any type. Its schema is the result of
 * `schemaOf`, or `{}`.
 */
export function schemaOfTemplate(
  value: Json,
  schemaOf: (reference: Reference) => JsonSchema | undefined = () => undefined,
  pointer = "",
): JsonSchema {
  if (value === null) return { type: "null" };
  if (typeof value === "string") {
    const reference = value.includes("{{") ? soleReference(parseTemplate(value)) : undefined;
    return reference ? embedSchema(schemaOf(reference) ?? {}, pointer) : { type: "string" };
  }
  if (typeof value === "number") return { type: "number" };
  if (typeof value === "boolean") return { type: "boolean" };
  if (Array.isArray(value)) return { type: "array" };
  const members = Object.entries(value);
  const schemaOfMember = (name: string, member: Json) =>
    schemaOfTemplate(member, schemaOf, `${pointer}/properties/${escapePointer(name)}`);
  return {
    type: "object",
    properties: Object.fromEntries(
      members.map(([name, member]) => [name, schemaOfMember(name, member)]),
    ),
    required: members.map(([name]) => name),
  };
}
