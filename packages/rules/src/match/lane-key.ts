import type { Json } from "../json.ts";
import { parsePath, valuesAt } from "./path.ts";

const MAX_CHARACTERS = 500;

/** The values at a path, as a text that distinguishes lanes. */
export function laneKey(data: Json, key: string): string {
  const path = parsePath(key);
  return path ? JSON.stringify(valuesAt(data, path)).slice(0, MAX_CHARACTERS) : "";
}
