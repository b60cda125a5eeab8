/** Parses JSON of requests and files, and checks its shape before any schema validates it. */
import { visitTexts } from "./flows/walk.ts";
import { isObject, type Json } from "./json.ts";
import { RequestError } from "./request-error.ts";

/** The levels of nesting. Webhooks and responses of servers have their own, higher limits. */
const MAX_DEPTH = 100;
/** The number of members in an object with arbitrary keys. */
const MAX_MEMBERS = 10_000;

/** `field` names the text in errors. */
export function parseJson(text: string, field: string): Json {
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

export const NUL_MESSAGE = "must not contain the character U+0000, which databases cannot store";

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
