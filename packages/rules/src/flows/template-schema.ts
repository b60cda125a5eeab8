/** What shows of a value's schema before its templates are filled in. */
import type { Json, JsonSchema } from "../json.ts";
import { parseTemplate, soleReference } from "./template.ts";

/** A reference may stand for anything. */
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
