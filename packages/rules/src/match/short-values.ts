/** Values in the reasons of verdicts. They are short, because verdicts are stored and payloads can be large. */
import { isObject, type Json } from "../json.ts";

/** A list or an object is replaced by its kind, and a long text is cut off. */
export type ShortValue =
  | string
  | number
  | boolean
  | null
  | { type: "list"; length: number }
  | { type: "object" };

const MAX_CHARACTERS = 80;
const MAX_VALUES = 3;

/** Returns the first values. */
export const shorten = (values: readonly Json[]): ShortValue[] =>
  // Most lists have one value, and matching is fast.
  values.length === 1
    ? [shortenValue(values[0] as Json)]
    : values.slice(0, MAX_VALUES).map(shortenValue);

function shortenValue(value: Json): ShortValue {
  if (typeof value === "string")
    return value.length > MAX_CHARACTERS ? `${value.slice(0, MAX_CHARACTERS)}…` : value;
  if (Array.isArray(value)) return { type: "list", length: value.length };
  return isObject(value) ? { type: "object" } : value;
}

/** Returns a text such as `"red", "bug" and 2 more`. */
export function describeValues(values: readonly ShortValue[], more = 0): string {
  const shown =
    values.length === 1
      ? describeValue(values[0] as ShortValue)
      : values.map(describeValue).join(", ");
  return more === 0 ? shown : `${shown} and ${more} more`;
}

function describeValue(value: ShortValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return value.type === "list" ? `a list of ${value.length}` : "an object";
}
