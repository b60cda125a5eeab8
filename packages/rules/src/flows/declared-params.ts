/** Reads the params that a trigger of an MCP server declares, for checks and forms. */
import { isObject, type Json, type JsonObject } from "../json.ts";
import type { ConnectionTrigger } from "./node-type.ts";

export interface DeclaredParam {
  schema: JsonObject;
  /** Whether the server needs a value and has no default. */
  isRequired: boolean;
}

/** Returns the params by name. A server can describe a param in one of the two schemas, or in both. */
export function declaredParams({
  inputSchema: { properties, required },
  paramsSchema,
}: Pick<ConnectionTrigger, "inputSchema" | "paramsSchema">): Map<string, DeclaredParam> {
  const schemas = new Map<string, JsonObject>();
  for (const record of [paramsSchema, properties])
    for (const [name, schema] of Object.entries(isObject(record) ? record : {}))
      schemas.set(name, { ...schemas.get(name), ...(isObject(schema) ? schema : {}) });
  const requiredNames = Array.isArray(required) ? required : [];
  return new Map(
    [...schemas].map(([name, schema]) => [
      name,
      {
        schema,
        isRequired:
          (schema.required === true || requiredNames.includes(name)) &&
          schema.default === undefined,
      },
    ]),
  );
}

/** Returns the values that a param, or an item of it, can have; undefined if it can have any value. */
export function allowedValues(schema: JsonObject): readonly Json[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  if (schema.const !== undefined) return [schema.const];
  return isObject(schema.items) ? allowedValues(schema.items) : undefined;
}
