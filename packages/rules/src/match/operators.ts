/** The comparison operators of triggers, conditions and forms. */
import type { Json } from "../json.ts";
import { includesText } from "./find-text.ts";
import { compileGlob } from "./glob.ts";
import { isOneOf, looselyEquals, numberOf } from "./loosely-equals.ts";

export const operators = [
  "eq",
  "ne",
  "in",
  "contains",
  "starts_with",
  "glob",
  "gt",
  "lt",
  "exists",
] as const;
export type Operator = (typeof operators)[number];

/**
 * Applies an operator to `data`, the values at a path. The operator holds if at least one of these
 * values, or one item of an array, satisfies it. There are two exceptions: `ne` holds if no value is
 * equal, and `exists` tests whether there is a value other than null.
 */
export function holds(op: Operator, data: readonly Json[], wanted: Json): boolean {
  switch (op) {
    case "eq":
      return data.some((datum) => equals(datum, wanted));
    case "ne":
      return !data.some((datum) => equals(datum, wanted));
    case "in":
      return Array.isArray(wanted) && data.some(valueOrAnyItem(isOneOf(wanted)));
    case "contains":
      return data.some((datum) =>
        typeof datum === "string"
          ? isScalar(wanted) && includesText(datum, String(wanted))
          : Array.isArray(datum) && datum.some((item) => looselyEquals(item, wanted)),
      );
    case "starts_with":
      return isScalar(wanted) && someText(data, (text) => text.startsWith(String(wanted)));
    case "glob":
      return isScalar(wanted) && someText(data, compileGlob(String(wanted)));
    case "gt":
      return someDifference(data, wanted, (difference) => difference > 0);
    case "lt":
      return someDifference(data, wanted, (difference) => difference < 0);
    case "exists":
      // Senders write null for an absent value, such as an assignee.
      return data.some((datum) => datum !== null) === (wanted !== false && wanted !== "false");
  }
}

const valueOrAnyItem =
  (test: (value: Json) => boolean) =>
  (datum: Json): boolean =>
    test(datum) || (Array.isArray(datum) && datum.some(test));

const equals = (datum: Json, wanted: Json): boolean =>
  valueOrAnyItem((value) => looselyEquals(value, wanted))(datum);

const itemsOf = (data: readonly Json[]): Json[] =>
  data.flatMap((datum) => (Array.isArray(datum) ? datum : [datum]));

const isScalar = (value: Json): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

const someText = (data: readonly Json[], test: (text: string) => boolean): boolean =>
  itemsOf(data).some((datum) => isScalar(datum) && test(String(datum)));

const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

/** Tests the difference between each value and `wanted`. Only numbers and times have a difference. */
function someDifference(
  data: readonly Json[],
  wanted: Json,
  test: (difference: number) => boolean,
): boolean {
  const right = numberOrTime(wanted);
  if (right === undefined) return false;
  return itemsOf(data).some((datum) => {
    const left = numberOrTime(datum);
    return left !== undefined && test(left - right);
  });
}

const numberOrTime = (value: Json): number | undefined => numberOf(value) ?? timeOf(value);

function timeOf(value: Json): number | undefined {
  if (typeof value !== "string" || !TIME.test(value)) return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
}
