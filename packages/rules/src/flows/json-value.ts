/**
 * Schemas of JSON in requests and in the config of nodes. `z.json()` is slow, because it visits every
 * value. These schemas do not: the body of a request, the parameters of a node and the values of its
 * templates are always JSON.
 */
import { z } from "zod";
import type { Json, JsonObject } from "../json.ts";
import { LargeJson, type MixedJson, type MixedObject } from "../large-json.ts";

/** For node types that accept large values: see `acceptsLarge` in node-type.ts. */
export const mixedValue = (): z.ZodType<MixedJson> =>
  acceptIf(z.json(), (value) => value !== undefined) as z.ZodType<MixedJson>;

export const mixedObject = (error?: string): z.ZodType<MixedObject | LargeJson> =>
  acceptIf(z.record(z.string(), z.json(), error), isJsonObject) as z.ZodType<
    MixedObject | LargeJson
  >;

export const jsonValue = (): z.ZodType<Json> => mixedValue() as z.ZodType<Json>;

export const jsonObject = (error?: string): z.ZodType<JsonObject> =>
  mixedObject(error) as z.ZodType as z.ZodType<JsonObject>;

const isJsonObject = (value: unknown): boolean =>
  value instanceof LargeJson
    ? value.text.trimStart().startsWith("{")
    : typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * Accepts a value without the validation of `schema` if `isValid` returns true. The schema provides only
 * the JSON Schema, and the errors about other values.
 */
function acceptIf(schema: z.ZodType, isValid: (value: unknown) => boolean): z.ZodType {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) =>
    isValid(payload.value) ? payload : run(payload, context);
  // `describe` returns a copy, in which `run` is not replaced.
  const { describe } = schema;
  schema.describe = (description) => acceptIf(describe.call(schema, description), isValid);
  return schema;
}
