/** Which control a JSON Schema needs, and how its text becomes a value. */
import { isObject, type Json, type JsonObject, type JsonSchema } from "@signalbox/rules/json.ts";

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
  /** One of several objects, told apart by the constant in `key`. */
  | { is: "variants"; key: string; variants: readonly Variant[] }
  | { is: "json" };

const LONG_TEXT = 1_000;

const objects = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

export function shapeOf(schema: JsonSchema): Shape {
  const { type, enum: values, properties, items, maxLength } = schema as JsonObject;
  if (Array.isArray(values))
    return {
      is: "choice",
      values: values.filter((v) => typeof v === "string" || typeof v === "number"),
    };
  if (type === "boolean") return { is: "boolean" };
  if (type === "number" || type === "integer") return { is: "number" };
  if (type === "string")
    return { is: "text", isLong: typeof maxLength === "number" && maxLength > LONG_TEXT };
  if (type === "object" && isObject(properties) && hasFields({ properties }))
    return { is: "fields", properties, required: requiredOf(schema as JsonObject) };
  if (type === "object") return { is: "record" };
  if (type === "array" && isObject(items) && isObject(items.properties))
    return { is: "list", items };
  const variants = variantsOf(
    objects((schema as JsonObject).oneOf ?? (schema as JsonObject).anyOf),
  );
  return variants ?? { is: "json" };
}

export const requiredOf = ({ required }: JsonObject): ReadonlySet<string> =>
  new Set(Array.isArray(required) ? required.filter((each) => typeof each === "string") : []);

/** Whether a form of the schema would have fields. */
export const hasFields = ({ properties }: JsonObject): boolean =>
  isObject(properties) && Object.keys(properties).length > 0;

/** The values that the schema knows; all of them if it allows others. */
export const knownFields = (schema: JsonObject, value: Json | undefined): JsonObject =>
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

/** A field of any JSON: what is not JSON is text, so that templates need no quotes. */
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

/** The opposite of `readJsonText`. */
export function writeJsonText(value: Json | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string")
    return readJsonText(value) === value ? value : JSON.stringify(value);
  return JSON.stringify(value, null, 2);
}

/** A number, or a template that gives one. */
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

/** A missing value removes the field. */
export function withField(value: JsonObject, name: string, next: Json | undefined): JsonObject {
  const { [name]: _, ...rest } = value;
  if (next === undefined) return rest;
  return name in value ? { ...value, [name]: next } : { ...rest, [name]: next };
}
