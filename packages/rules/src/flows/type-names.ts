/** Converts type names of JSON Schema and Zod for error messages: `string` becomes "a string". */
import type { Json } from "../json.ts";

const NAMES: ReadonlyMap<unknown, string> = new Map([
  ["string", "a string"],
  ["number", "a number"],
  ["integer", "an integer"],
  ["int", "an integer"],
  ["boolean", "a boolean"],
  ["array", "an array"],
  ["object", "an object"],
  ["record", "an object"],
]);

export const nameType = (type: Json): string => NAMES.get(type) ?? String(type);
