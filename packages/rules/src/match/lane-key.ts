import type { Json } from "../json.ts";
import { parsePath, valuesAt } from "./path.ts";

const MAX_CHARACTERS = 500;

/**
 * Returns the values at the path `key` as text: runs with the same text share a lane. The text is
 * truncated, so values that differ only after 500 characters share a lane too.
 */
export function laneKey(data: Json, key: string): string {
  const path = parsePath(key);
  return path ? JSON.stringify(valuesAt(data, path)).slice(0, MAX_CHARACTERS) : "";
}
