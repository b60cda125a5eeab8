/** Chooses the form control for a JSON Schema, and converts between values and the text of controls. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";

interface Variant {
  name: string;
  schema: JsonObject;
}

export type Shape =
  | { is: "choice"; values: readonly (string | number)[] }
  | { is: "boolean" }
  | { is: "number" }
  | { is: "text"; isLong: boolean }
  | { is: "fields"; properties: JsonObject; required: ReadonlySet<string> }
  | { is: "record" }
  | { is: "list"; items: JsonObject }
  /** One of several objects, distinguished by the constant in `key`. */
  | { is: "variants"; key: string; variants: readonly Variant[] }
  | { is: "json" };

/** Text that may be longer gets a text area. */
const MAX_LINE_LENGTH = 1_000;

const objectsIn = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

export function shapeOf(schema: JsonObject): Shape {
  const { type, enum: values, properties, items, maxLength } = schema;
  if (Array.isArray(values))
    return {
      is: "choice",
      values: values.filter((v) => typeof v === "string" || typeof v === "number"),
    };
  if (type === "boolean") return { is: "boolean" };
  if (type === "number" || type === "integer") return { is: "number" };
  if (type === "string")
    return { is: "text", isLong: typeof maxLength === "number" && maxLength > MAX_LINE_LENGTH };
  if (type === "object" && isObject(properties) && hasFields({ properties }))
    return { is: "fields", properties, required: requiredOf(schema) };
  if (type === "object") return { is: "record" };
  if (type === "array" && isObject(items) && isObject(items.properties))
    return { is: "list", items };
  return variantsOf(objectsIn(schema.oneOf ?? schema.anyOf)) ?? { is: "json" };
}

export const requiredOf = ({ required }: JsonObject): ReadonlySet<string> =>
  new Set(Array.isArray(required) ? required.filter((each) => typeof each === "string") : []);

/** Whether a form for the schema would have fields. */
export const hasFields = ({ properties }: JsonObject): boolean =>
  isObject(properties) && Object.keys(properties).length > 0;

/** Picks the fields that the schema defines, or all if it explicitly allows additional properties. */
export const pickKnownFields = (schema: JsonObject, value: Json | undefined): JsonObject =>
  isObject(value)
    ? Object.fromEntries(
        Object.entries(value).filter(
          ([name]) =>
            schema.additionalProperties === true ||
            isObject(schema.additionalProperties) ||
            (isObject(schema.properties) && Object.hasOwn(schema.properties, name)),
        ),
      )
    : {};

function variantsOf(schemas: readonly JsonObject[]): Shape | undefined {
  const first = schemas[0]?.properties;
  if (!isObject(first)) return undefined;
  const key = Object.keys(first).find((name) => isObject(first[name]) && "const" in first[name]);
  if (key === undefined) return undefined;
  const variants = schemas.flatMap((schema): Variant[] => {
    const constant = isObject(schema.properties) && schema.properties[key];
    return isObject(constant) && typeof constant.const === "string"
      ? [{ name: constant.const, schema }]
      : [];
  });
  return variants.length === schemas.length ? { is: "variants", key, variants } : undefined;
}

/** Parses the text of a field for any JSON. Other text becomes a string, so templates need no quotes. */
export function readJsonText(text: string): Json | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (!/^([[{"\d-]|true$|false$|null$)/.test(trimmed) || trimmed.startsWith("{{")) return text;
  try {
    return JSON.parse(trimmed) as Json;
  } catch {
    return text;
  }
}

/** The inverse of `readJsonText`. */
export function writeJsonText(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string")
    return readJsonText(value) === value ? value : JSON.stringify(value);
  return JSON.stringify(value, null, 2);
}

/** Returns a number, or the text itself, which may be a template. */
export function readNumberText(text: string): Json | undefined {
  if (text.trim() === "") return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

/** `timeoutMs` → "Timeout ms", `client_id` → "Client id". */
export function labelOf(name: string): string {
  const words = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Sets a field, or removes it if `next` is undefined. Existing fields keep their order. */
export function withField(value: JsonObject, name: string, next: Json | undefined): JsonObject {
  if (next !== undefined) return { ...value, [name]: next };
  const { [name]: _, ...rest } = value;
  return rest;
}
