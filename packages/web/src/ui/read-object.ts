import { isObject, type JsonObject } from "@signalbox/rules/json.ts";

/** Text that must be a JSON object; blank is an empty one. */
export function readObject(text: string): { value?: JsonObject; problem?: string } {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return isObject(value) ? { value } : { problem: "must be a JSON object" };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
