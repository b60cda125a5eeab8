/** Creates data of a test event that matches a trigger: a sample, changed where a condition does not match. */
import { isObject, type Json, type JsonObject, setOwn } from "@signalbox/rules/json.ts";
import { numberOf } from "@signalbox/rules/match/loosely-equals.ts";
import { holds } from "@signalbox/rules/match/operators.ts";
import { readParam, type Test } from "@signalbox/rules/match/param.ts";
import { type Path, parsePath, valuesAt } from "@signalbox/rules/match/path.ts";

export function matchingData(params: JsonObject, sample: JsonObject = {}): JsonObject {
  let data: Json = sample;
  for (const [name, param] of Object.entries(params)) {
    const path = parsePath(name);
    const test = readParam(param);
    if (!path || test === "any" || "problem" in test) continue;
    if (holds(test.op, valuesAt(data, path), test.value)) continue;
    data = setAt(data, path, matchingValue(test));
  }
  return isObject(data) ? data : sample;
}

function matchingValue({ op, value }: Test): Json {
  switch (op) {
    case "in":
      return Array.isArray(value) ? (value[0] ?? null) : value;
    case "ne":
      return typeof value === "object" ? "other" : `not ${value}`;
    case "glob":
      return String(value).replaceAll(/[*?]/g, "x");
    case "gt":
      return shift(value, 1);
    case "lt":
      return shift(value, -1);
    case "exists":
      return value === false || value === "false" ? null : "something";
    default:
      return value;
  }
}

/** A path with a high index must not create a huge list. */
const MAX_INDEX = 100;
const DAY_MS = 86_400_000;

/** Returns a number that is higher or lower by 1, or a time that is one day later or earlier. */
function shift(value: Json, by: 1 | -1): Json {
  const number = numberOf(value);
  if (number !== undefined) return number + by;
  const time = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? value : new Date(time + by * DAY_MS).toISOString();
}

/** Returns a copy of the data with the value at the path. */
function setAt(data: Json | undefined, path: Path, value: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === "string") {
    const next: JsonObject = isObject(data) ? { ...data } : {};
    const current = Object.hasOwn(next, key) ? next[key] : undefined;
    setOwn(next, key, setAt(current, rest, value));
    return next;
  }
  // For `[]`, which means any item, the first item gets the value.
  const index = typeof key === "number" ? Math.min(key, MAX_INDEX) : 0;
  const items = Array.isArray(data) ? [...data] : [];
  while (items.length <= index) items.push(null);
  return items.with(index, setAt(items[index], rest, value));
}
