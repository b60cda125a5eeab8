/** Parses JSON of requests, and checks its limits before any schema validates it. */

import type { Json } from "@signalbox/rules/json.ts";
import { NUL_MESSAGE, parseJson as parseUnlimited } from "@signalbox/rules/parse-json.ts";
import { hasMoreValues } from "./json-text.ts";
import { DEFAULT_BODY_LIMITS } from "./limits.ts";
import { RequestError } from "./request-error.ts";

export { assertShape } from "@signalbox/rules/parse-json.ts";

export function parseJson(
  text: string,
  field: string,
  maxValues = DEFAULT_BODY_LIMITS.values,
): Json {
  assertValueCount(text, field, maxValues);
  return parseUnlimited(text, field);
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

/** Checks the parameters of a URL. */
export function assertNoNulInParameters(parameters: Record<string, string>): void {
  for (const [name, text] of Object.entries(parameters))
    if (text.includes("\0")) throw new RequestError("invalid", name, NUL_MESSAGE);
}
