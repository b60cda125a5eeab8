/**
 * The JSON Schemas of tools as `tools/list` returns them. Agents read the list at the start of every
 * conversation, so it has only what they need to call the tools: names, types, units and large limits. The
 * Zod schemas check the rest, and their errors name it.
 */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";

export interface ListedSchema {
  type: "object";
  [key: string]: unknown;
}

/** Lists a field only with its type and a description of it, which may name its own fields. */
export const brief = <Schema extends z.ZodType>(schema: Schema, description = ""): Schema =>
  schema.meta({ description, brief: true });

export const listedInput = (schema: z.ZodObject): ListedSchema =>
  slim(toJsonSchema(schema, "input")) as unknown as ListedSchema;

/** The names of the fields. Clients validate `structuredContent` with it; models do not see it. */
export const listedOutput = (schema: z.ZodObject): ListedSchema => ({
  type: "object",
  required: toJsonSchema(schema, "output").required,
});

const toJsonSchema = (schema: z.ZodObject, io: "input" | "output"): JsonObject =>
  z.toJSONSchema(schema, { io, unrepresentable: "any" }) as JsonObject;

/** A limit on the length of a text that is shorter than this is left out: names and ids are short anyway. */
const LONG_TEXT = 1_000;

/** Keywords that say nothing to an agent. `$ref` and `$defs` stand for any JSON (`z.json()`). */
const OMITTED = new Set([
  "$schema",
  "$ref",
  "$defs",
  "additionalProperties",
  "minLength",
  "pattern",
  "propertyNames",
]);

function slim(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(slim);
  if (!isObject(schema)) return schema;
  if (schema.brief) return slimBrief(schema);
  const keywords = Object.entries(schema).filter(([keyword, value]) => !isOmitted(keyword, value));
  return Object.fromEntries(
    keywords.map(([keyword, value]) => [keyword, slimKeyword(keyword, value)]),
  );
}

function slimBrief({ type, oneOf, description }: JsonObject): JsonObject {
  const listedType = type ?? (oneOf && "object");
  return {
    ...(listedType && { type: listedType }),
    // Some models reject an array without it.
    ...(type === "array" && { items: {} }),
    ...(description && { description }),
  };
}

function slimKeyword(keyword: string, value: Json): Json {
  if (keyword === "properties" && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, slim(field)]));
  return keyword === "default" || keyword === "enum" ? value : slim(value);
}

function isOmitted(keyword: string, value: Json): boolean {
  if (OMITTED.has(keyword)) return true;
  if (keyword === "maxLength") return Number(value) < LONG_TEXT;
  if (keyword === "minimum" || keyword === "maximum") return !isLimit(Number(value));
  return false;
}

/** Zod adds the range of safe integers. */
const isLimit = (value: number) => Math.abs(value) < Number.MAX_SAFE_INTEGER;
