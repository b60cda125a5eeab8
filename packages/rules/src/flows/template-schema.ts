/** Derives the schema of a rendered value from its templates. */
import type { Json, JsonSchema } from "../json.ts";
import { parseTemplate, soleReference } from "./template.ts";

/** The schema of a single reference is `{}`, because its value can have any type. */
export function schemaOfTemplate(value: Json): JsonSchema {
  if (value === null) return { type: "null" };
  if (typeof value === "string")
    return value.includes("{{") && soleReference(parseTemplate(value)) ? {} : { type: "string" };
  if (typeof value === "number") return { type: "number" };
  if (typeof value === "boolean") return { type: "boolean" };
  if (Array.isArray(value)) return { type: "array" };
  const members = Object.entries(value);
  return {
    type: "object",
    properties: Object.fromEntries(members.map(([name, one]) => [name, schemaOfTemplate(one)])),
    required: members.map(([name]) => name),
  };
}
