import type { LargeJson, MixedJson, MixedObject } from "./large-json.ts";

type Parsed = Exclude<MixedJson, LargeJson>;

/** Returns an own property of an object or an item of an array; undefined if there is none. */
export function memberOf(value: Parsed, step: string | number): MixedJson | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  if (Array.isArray(value)) return /^\d+$/.test(String(step)) ? value[Number(step)] : undefined;
  return (value as MixedObject)[step];
}
