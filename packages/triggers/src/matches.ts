/**
 * Compares the data of an event with the params of a subscription, in the same way as Signalbox does:
 * keys are paths, `"123"` equals 123, and a list matches if any of its items does.
 */
import { isObject } from "./json.ts";

/** The step `[]` of a path, which selects all items of a list. */
const EACH = Symbol("each");
/** Matches one step of a path: a name, `[0]`, `[]` or `["name"]`. */
const STEP = /(?:^|\.)([^.[\]"]+)|\[(\d{1,9})\]|(\[\])|\["((?:[^"\\]|\\.)*)"\]/y;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Returns whether a param is blank. A blank param matches every event. */
export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === "string" && value.trim() === "");

export const isNumeric = (text: string): boolean => NUMBER.test(text);

export function paramsMatch(params: object, data: unknown): boolean {
  return Object.entries(params).every(
    ([path, expected]) =>
      isBlank(expected) ||
      valuesAt(data, path).some(
        (value) =>
          looselyEquals(value, expected) ||
          (Array.isArray(value) && value.some((item) => looselyEquals(item, expected))),
      ),
  );
}

/** Returns all values at a path such as `issue.labels[].name`. */
export function valuesAt(data: unknown, text: string): unknown[] {
  const path = parsePath(text);
  if (!path) return [];
  let values = [data];
  for (const step of path)
    values = values.flatMap((value) => {
      if (step === EACH) return Array.isArray(value) ? value : [];
      if (Array.isArray(value))
        return typeof step === "number" && step < value.length ? [value[step]] : [];
      return isObject(value) && Object.hasOwn(value, step) ? [value[String(step)]] : [];
    });
  return values;
}

/** Returns undefined if the text is not a path. */
function parsePath(text: string): (string | number | typeof EACH)[] | undefined {
  const path: (string | number | typeof EACH)[] = [];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (!match) return undefined;
    const [, name, index, each, quoted] = match;
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else if (each !== undefined) path.push(EACH);
    else path.push((quoted ?? "").replaceAll(/\\(.)/g, "$1"));
  }
  return path.length > 0 ? path : undefined;
}

/** Compares JSON values. A number or boolean equals the string with the same value. */
export function looselyEquals(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right))
    return (
      left.length === right.length && left.every((item, index) => looselyEquals(item, right[index]))
    );
  if (isObject(left) && isObject(right)) {
    const names = Object.keys(left);
    return (
      names.length === Object.keys(right).length &&
      names.every((name) => Object.hasOwn(right, name) && looselyEquals(left[name], right[name]))
    );
  }
  return left === right || equalsText(left, right) || equalsText(right, left);
}

const equalsText = (value: unknown, text: unknown): boolean =>
  typeof text === "string" &&
  ((typeof value === "boolean" && text === String(value)) ||
    (typeof value === "number" && NUMBER.test(text) && Number(text) === value));
