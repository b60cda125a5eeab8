/** The comparison operators of triggers, conditions and forms. */
import type { Json } from "../json.ts";
import { includesText } from "./find-text.ts";
import { compileGlob } from "./glob.ts";
import { isOneOf, numberOf, same } from "./same.ts";

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
 * Applies an operator to the values at a path, of which there can be any number. It holds if at least
 * one value, or one item of an array, satisfies it. The exceptions: `ne` holds if no value is equal,
 * and `exists` tests whether there is a value other than null.
 */
export function holds(op: Operator, data: readonly Json[], wanted: Json): boolean {
  switch (op) {
    case "eq":
      return data.some((datum) => equals(datum, wanted));
    case "ne":
      return !data.some((datum) => equals(datum, wanted));
    case "in":
      return Array.isArray(wanted) && data.some(valueOrItems(isOneOf(wanted)));
    case "contains":
      return data.some((datum) =>
        typeof datum === "string"
          ? isScalar(wanted) && includesText(datum, String(wanted))
          : Array.isArray(datum) && datum.some((item) => same(item, wanted)),
      );
    case "starts_with":
      return isScalar(wanted) && anyText(data, (text) => text.startsWith(String(wanted)));
    case "glob":
      return isScalar(wanted) && anyText(data, compileGlob(String(wanted)));
    case "gt":
      return isOrdered(data, wanted, (difference) => difference > 0);
    case "lt":
      return isOrdered(data, wanted, (difference) => difference < 0);
    case "exists":
      // Senders write null for an absent value, such as an assignee.
      return data.some((datum) => datum !== null) === (wanted !== false && wanted !== "false");
  }
}

const valueOrItems =
  (test: (value: Json) => boolean) =>
  (datum: Json): boolean =>
    test(datum) || (Array.isArray(datum) && datum.some(test));

const equals = (datum: Json, wanted: Json): boolean =>
  valueOrItems((value) => same(value, wanted))(datum);

const each = (data: readonly Json[]): Json[] =>
  data.flatMap((datum) => (Array.isArray(datum) ? datum : [datum]));

const isScalar = (value: Json): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean";

const anyText = (data: readonly Json[], test: (text: string) => boolean): boolean =>
  each(data).some((datum) => isScalar(datum) && test(String(datum)));

const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

/** Numbers and times are comparable; other values are not. */
function isOrdered(
  data: readonly Json[],
  wanted: Json,
  test: (difference: number) => boolean,
): boolean {
  const right = orderOf(wanted);
  if (right === undefined) return false;
  return each(data).some((datum) => {
    const left = orderOf(datum);
    return left !== undefined && test(left - right);
  });
}

const orderOf = (value: Json): number | undefined => numberOf(value) ?? timeOf(value);

function timeOf(value: Json): number | undefined {
  if (typeof value !== "string" || !TIME.test(value)) return undefined;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : time;
}
