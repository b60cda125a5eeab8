/** Loose equality of JSON values: forms and queries submit numbers and booleans as strings. */
import { isObject, type Json } from "../json.ts";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns undefined if the value is not a number. `" 12 "`, `"0x1f"` and `""` are not numbers. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : undefined;
}

/** Deep equality, where `"123"` equals 123 and `"true"` equals true. */
export function looselyEquals(a: Json, b: Json): boolean {
  const pairs: [Json, Json][] = [[a, b]];
  for (let pair = pairs.pop(); pair; pair = pairs.pop()) {
    const [left, right] = pair;
    if (Array.isArray(left) && Array.isArray(right)) {
      if (left.length !== right.length) return false;
      left.forEach((item, at) => {
        pairs.push([item, right[at] as Json]);
      });
    } else if (isObject(left) && isObject(right)) {
      const names = Object.keys(left);
      if (names.length !== Object.keys(right).length) return false;
      for (const name of names) {
        if (!Object.hasOwn(right, name)) return false;
        pairs.push([left[name] as Json, right[name] as Json]);
      }
    } else if (!scalarsLooselyEqual(left, right)) return false;
  }
  return true;
}

/** Like `list.some((item) => looselyEquals(value, item))`, but looks up scalars in a set. */
export function isOneOf(list: readonly Json[]): (value: Json) => boolean {
  const exact = new Set(list);
  const numbers = new Set(list.filter((item) => typeof item === "number"));
  const numbersInStrings = new Set(
    list.map((item) => (typeof item === "string" ? numberOf(item) : undefined)),
  );
  const compound = list.filter((item) => typeof item === "object" && item !== null);
  return (value) => {
    if (exact.has(value)) return true;
    if (typeof value === "boolean") return exact.has(String(value));
    if (typeof value === "number") return numbersInStrings.has(value);
    if (typeof value !== "string") return compound.some((item) => looselyEquals(value, item));
    if (value === "true" || value === "false") return exact.has(value === "true");
    const number = numberOf(value);
    return number !== undefined && numbers.has(number);
  };
}

function scalarsLooselyEqual(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a === "boolean") return b === String(a);
  if (typeof b === "boolean") return a === String(b);
  // Two different strings are not equal, even if they represent the same number.
  if (typeof a === "string" && typeof b === "string") return false;
  const number = numberOf(a);
  return number !== undefined && number === numberOf(b);
}
