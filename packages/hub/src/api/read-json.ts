/** Parses JSON of requests and files, with limits for its size and nesting. */
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { eachText } from "@signalbox/rules/flows/walk.ts";
import { isObject, type Json } from "@signalbox/rules/json.ts";
import { RequestError } from "../lib/request-error.ts";

const MAX_BYTES = 8 * 1024 * 1024;
/** Many clients read the response only after sending the body, so up to this much is discarded. */
export const MAX_DISCARDED = 64 * 1024 * 1024;
/** Code that recurses over JSON relies on this limit. */
const MAX_DEPTH = 100;

export const TOO_LARGE = Symbol("too large");
export const tooLargeMessage = (maxBytes = MAX_BYTES): string =>
  `The body exceeds the limit of ${maxBytes} bytes.`;

export async function readJson(
  body: ReadableStream<Uint8Array> | null,
  maxBytes = MAX_BYTES,
): Promise<Json | typeof TOO_LARGE> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_DISCARDED) break;
    if (size <= maxBytes) text += decoder.decode(chunk, { stream: true });
  }
  if (size > maxBytes) return TOO_LARGE;
  text += decoder.decode();
  return text === "" ? {} : parseJson(text, "body");
}

export function parseJson(text: string, field: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new RequestError("invalid", field, `is not valid JSON: ${(error as Error).message}`);
  }
  if (isDeeperThan(MAX_DEPTH, value))
    throw new RequestError("invalid", field, `must not be nested deeper than ${MAX_DEPTH} levels`);
  // U+0000 must be escaped in JSON, so most bodies need no traversal.
  if (text.includes("\\u0000")) assertNoNul(value, field);
  return value;
}

const NUL_MESSAGE = "must not contain the character U+0000, which databases cannot store";

/** PostgreSQL cannot store U+0000 in a text. */
function assertNoNul(value: Json, field: string): void {
  eachText(value, (text, keys) => {
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
export function assertNoNulIn(parameters: Record<string, string>): void {
  for (const [name, text] of Object.entries(parameters))
    if (text.includes("\0")) throw new RequestError("invalid", name, NUL_MESSAGE);
}
