/**
 * Schemas of JSON in requests and in the config of nodes. Unlike `z.json()`, they do not visit every
 * value, which is slow: the body of a request is known to be JSON, and so are the parameters of a node
 * and the values of its templates.
 */
import { z } from "zod";
import type { Json, JsonObject } from "../json.ts";
import { LargeJson, type MixedJson, type MixedObject } from "../large-json.ts";

/** For types that accept large values: see `acceptsLarge` in node-type.ts. */
export const mixedValue = (): z.ZodType<MixedJson> =>
  accept(z.json(), (value) => value !== undefined) as z.ZodType<MixedJson>;

export const mixedObject = (error?: string): z.ZodType<MixedObject | LargeJson> =>
  accept(z.record(z.string(), z.json(), error), isJsonObject) as z.ZodType<MixedObject | LargeJson>;

export const jsonValue = (): z.ZodType<Json> => mixedValue() as z.ZodType<Json>;

export const jsonObject = (error?: string): z.ZodType<JsonObject> =>
  mixedObject(error) as z.ZodType as z.ZodType<JsonObject>;

const isJsonObject = (value: unknown): boolean =>
  value instanceof LargeJson
    ? value.text.trimStart().startsWith("{")
    : typeof value === "object" && value !== null && !Array.isArray(value);

/** The schema determines the JSON Schema, and the errors about values that are not accepted. */
function accept(schema: z.ZodType, isValid: (value: unknown) => boolean): z.ZodType {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) =>
    isValid(payload.value) ? payload : run(payload, context);
  // `describe` copies the schema, without the method above.
  const { describe } = schema;
  schema.describe = (description) => accept(describe.call(schema, description), isValid);
  return schema;
}
