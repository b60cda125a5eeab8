import type { Json } from "./json.ts";

/** Own properties, and items of arrays, only. */
export function memberOf(value: Json, step: string | number): Json | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  if (Array.isArray(value)) return /^\d+$/.test(String(step)) ? value[Number(step)] : undefined;
  return value[step];
}
