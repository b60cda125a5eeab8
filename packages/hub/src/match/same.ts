/** Values as people mean them: what a form or a query brings is text, though a number is meant. */
import { isObject, type Json } from "../lib/json.ts";

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The number that a value is or spells, without guessing: `" 12 "`, `0x1f` and `""` are none. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : undefined;
}

/** Equal, where `"123"` is 123 and `"true"` is true. Objects are equal by their members. */
export function same(a: Json, b: Json): boolean {
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
    } else if (!sameScalar(left, right)) return false;
  }
  return true;
}

function sameScalar(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (typeof a === "boolean") return b === String(a);
  if (typeof b === "boolean") return a === String(b);
  // Two texts that differ are different, even where both spell the same number.
  if (typeof a === "string" && typeof b === "string") return false;
  const number = numberOf(a);
  return number !== undefined && number === numberOf(b);
}
