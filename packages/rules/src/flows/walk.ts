/** Visits or replaces the strings of a JSON value. Recursive: model.ts limits the depth of parameters. */
import { isObject, type Json } from "../json.ts";
import type { MixedJson } from "../large-json.ts";

export type Keys = readonly (string | number)[];

/** Calls `visit` for every string in a value, with its path. */
export function visitTexts(value: Json, visit: (text: string, keys: Keys) => void): void {
  mapTexts(value, (text, keys) => {
    visit(text, keys);
    return text;
  });
}

/** Returns a copy in which every string is the result of `change`. Unchanged values are not copied. */
export function mapTexts<Changed extends MixedJson = Json>(
  value: Json,
  change: (text: string, keys: Keys) => Changed,
  keys: Keys = [],
): Changed | Json {
  if (typeof value === "string") return change(value, keys);
  if (Array.isArray(value)) {
    const items = value.map((item, index) => mapTexts(item, change, [...keys, index]));
    return items.some((item, index) => item !== value[index])
      ? (items as MixedJson as Changed)
      : value;
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, item]): [string, Changed | Json] => [
    name,
    mapTexts(item, change, [...keys, name]),
  ]);
  return entries.some(([name, item]) => item !== value[name])
    ? (Object.fromEntries(entries) as Changed)
    : value;
}
