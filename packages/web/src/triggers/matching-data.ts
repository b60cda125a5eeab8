/** The data of a test event that a trigger matches: the server's sample with the wanted values in it. */
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
    data = putAt(data, path, wantedValue(test));
  }
  return isObject(data) ? data : sample;
}

function wantedValue({ op, value }: Test): Json {
  switch (op) {
    case "in":
      return Array.isArray(value) ? (value[0] ?? null) : value;
    case "ne":
      return `not ${String(value)}`;
    case "glob":
      return String(value).replaceAll(/[*?]/g, "x");
    case "gt":
      return shifted(value, 1);
    case "lt":
      return shifted(value, -1);
    case "exists":
      return value === false || value === "false" ? null : "something";
    default:
      return value;
  }
}

const DAY_MS = 86_400_000;

/** A number or a time that is a bit more, or less. */
function shifted(value: Json, by: 1 | -1): Json {
  const number = numberOf(value);
  if (number !== undefined) return number + by;
  const time = Date.parse(String(value));
  return Number.isNaN(time) ? value : new Date(time + by * DAY_MS).toISOString();
}

function putAt(data: Json | undefined, path: Path, value: Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === "string") {
    const next: JsonObject = isObject(data) ? { ...data } : {};
    const before = Object.hasOwn(next, step) ? next[step] : undefined;
    setOwn(next, step, putAt(before, rest, value));
    return next;
  }
  // `[]`: one item is enough.
  const at = typeof step === "number" ? Math.min(step, MAX_ITEMS) : 0;
  const items = Array.isArray(data) ? [...data] : [];
  while (items.length <= at) items.push(null);
  return items.with(at, putAt(items[at], rest, value));
}

const MAX_ITEMS = 100;
