/** The initial arguments of a tool call, and the validation of arguments. */
import { writePath } from "@signalbox/rules/flows/issues.ts";
import { isCheap, validateInProcess } from "@signalbox/rules/flows/validate-schema.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { requiredOf } from "../panel/schema-shape.ts";

/** Required constants, which have no field, and required booleans: a switch that is off must be sent too. */
export function initialArguments(schema: JsonObject): JsonObject {
  const properties = isObject(schema.properties) ? schema.properties : {};
  return Object.fromEntries(
    [...requiredOf(schema)].flatMap((name): [string, Json][] => {
      const property = properties[name];
      if (!isObject(property)) return [];
      if (property.const !== undefined) return [[name, property.const]];
      return property.type === "boolean" ? [[name, property.default ?? false]] : [];
    }),
  );
}

/** Returns messages by the path of the argument. An expensive schema is left to the server. */
export function argumentProblems(
  schema: JsonObject,
  value: JsonObject,
): ReadonlyMap<string, string> {
  const missing = [...requiredOf(schema)].filter((name) => !Object.hasOwn(value, name));
  if (missing.length > 0) return new Map(missing.map((name) => [name, "is required"]));
  if (!isCheap([{ schema, value }])) return new Map();
  const error = validateInProcess({ schema, value });
  return error && !error.isUnchecked
    ? new Map([[writePath(error.keys), error.message]])
    : new Map();
}
