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

export interface ShortValues {
  /** The first values. */
  values: ShortValue[];
  /** The number of further values. */
  more?: number | undefined;
}

const MAX_CHARACTERS = 80;
const MAX_VALUES = 3;

export const shorten = (values: readonly Json[]): ShortValues => ({
  values: values.slice(0, MAX_VALUES).map(shortenValue),
  ...(values.length > MAX_VALUES && { more: values.length - MAX_VALUES }),
});

function shortenValue(value: Json): ShortValue {
  if (Array.isArray(value)) return { type: "list", length: value.length };
  if (isObject(value)) return { type: "object" };
  return typeof value === "string" && value.length > MAX_CHARACTERS
    ? `${value.slice(0, MAX_CHARACTERS)}…`
    : value;
}

/** Returns a text such as `"red", "bug" and 2 more`. */
export function describeValues({ values, more }: ShortValues): string {
  const shown = values.map(describeValue).join(", ");
  return more === undefined ? shown : `${shown} and ${more} more`;
}

function describeValue(value: ShortValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return value.type === "list" ? `a list of ${value.length}` : "an object";
}
