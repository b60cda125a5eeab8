/** Parses JSON of requests and files, and checks its limits before any schema validates it. */
import { visitTexts } from "@signalbox/rules/flows/walk.ts";
import { isObject, type Json } from "@signalbox/rules/json.ts";
import { hasMoreValues } from "./count-values.ts";
import { DEFAULT_BODY_LIMITS, MAX_DEPTH, MAX_MEMBERS } from "./limits.ts";
import { RequestError } from "./request-error.ts";

export function parseJson(
  text: string,
  field: string,
  maxValues = DEFAULT_BODY_LIMITS.values,
): Json {
  assertValueCount(text, field, maxValues);
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new RequestError("invalid", field, `is not valid JSON: ${(error as Error).message}`);
  }
  assertShape(value, field);
  // U+0000 must be escaped in JSON, so most bodies need no traversal.
  if (text.includes("\\u0000")) assertNoNul(value, field);
  return value;
}

/** Call it before parsing, because parsed values take much more memory than their text. */
export function assertValueCount(text: string, field: string, maxValues: number): void {
  if (hasMoreValues(text, maxValues))
    throw new RequestError(
      "invalid",
      field,
      `has more than ${maxValues} values, which is the limit; send less at a time`,
    );
}

/**
 * Checks the levels of nesting, and the number of fields of each object. The recursion stops at
 * `MAX_DEPTH`, so that deep values cannot overflow the stack.
 */
export function assertShape(value: Json, field: string, levelsLeft = MAX_DEPTH): void {
  if (typeof value !== "object" || value === null) return;
  const members = Array.isArray(value) ? value : Object.values(value);
  if (members.length === 0) return;
  if (levelsLeft === 0)
    throw new RequestError("invalid", field, `must not be nested deeper than ${MAX_DEPTH} levels`);
  if (members.length > MAX_MEMBERS && !Array.isArray(value))
    throw new RequestError(
      "invalid",
      field,
      `has an object with ${members.length} fields; the limit is ${MAX_MEMBERS}`,
    );
  for (const member of members) assertShape(member as Json, field, levelsLeft - 1);
}

const NUL_MESSAGE = "must not contain the character U+0000, which databases cannot store";

/** PostgreSQL cannot store U+0000 in a text. */
function assertNoNul(value: Json, field: string): void {
  visitTexts(value, (text, keys) => {
    if (text.includes("\0"))
      throw new RequestError("invalid", keys.join(".") || field, NUL_MESSAGE);
  });
  assertNoNulInNames(value, field);
}

function assertNoNulInNames(value: Json, field: string): void {
  if (Array.isArray(value)) for (const item of value) assertNoNulInNames(item, field);
  if (!isObject(value)) return;
  for (const [name, item] of Object.entries(value)) {
    if (name.includes("\0")) throw new RequestError("invalid", field, NUL_MESSAGE);
    assertNoNulInNames(item, field);
  }
}

/** Checks the parameters of a URL. */
export function assertNoNulInParameters(parameters: Record<string, string>): void {
  for (const [name, text] of Object.entries(parameters))
    if (text.includes("\0")) throw new RequestError("invalid", name, NUL_MESSAGE);
}
