import { isObject, type JsonObject } from "@signalbox/rules/json.ts";

export type ReadObject = { value: JsonObject } | { error: string };

/** Text that must be a JSON object; blank is an empty one. */
export function readObject(text: string): ReadObject {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return isObject(value) ? { value } : { error: "must be a JSON object" };
  } catch (error) {
    return { error: (error as Error).message };
  }
}
