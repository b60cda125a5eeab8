import { isObject, type JsonObject } from "@signalbox/rules/json.ts";

export type ReadObject = { value: JsonObject } | { error: string };

/** Parses text that must be a JSON object. Blank text is an empty object. */
export function readObject(text: string): ReadObject {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return isObject(value) ? { value } : { error: "must be a JSON object" };
  } catch (error) {
    return { error: (error as Error).message };
  }
}
