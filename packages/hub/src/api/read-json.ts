/** Bodies of requests, and files, as JSON that everything behind can take: neither too large nor too deep. */
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { eachText } from "@signalbox/rules/flows/walk.ts";
import { isObject, type Json } from "@signalbox/rules/json.ts";
import { RequestError } from "../lib/request-error.ts";

const MOST_BYTES = 8 * 1024 * 1024;
/** Who is still sending does not hear why it was refused; more than this nobody listens to. */
const MOST_DISCARDED = 64 * 1024 * 1024;
/** Of JSON that is gone through by recursion. */
const MOST_DEPTH = 100;

export const TOO_LARGE = Symbol("too large");
export const tooLargeWords = (mostBytes = MOST_BYTES): string =>
  `The body may have at most ${mostBytes} bytes.`;

export async function readJson(
  body: ReadableStream<Uint8Array> | null,
  mostBytes = MOST_BYTES,
): Promise<Json | typeof TOO_LARGE> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > MOST_DISCARDED) break;
    if (size <= mostBytes) text += decoder.decode(chunk, { stream: true });
  }
  if (size > mostBytes) return TOO_LARGE;
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
  if (isDeeperThan(MOST_DEPTH, value))
    throw new RequestError("invalid", field, `must not be nested deeper than ${MOST_DEPTH} levels`);
  // Only an escape can bring it in, so nearly nobody pays for the search.
  if (text.includes("\\u0000")) refuseNul(value, field);
  return value;
}

const NUL_WORDS = "must not hold the character U+0000: databases do not keep it";

/** PostgreSQL has no place for it in a text. */
function refuseNul(value: Json, field: string): void {
  eachText(value, (text, keys) => {
    if (text.includes("\0")) throw new RequestError("invalid", keys.join(".") || field, NUL_WORDS);
  });
  refuseNulInNames(value, field);
}

function refuseNulInNames(value: Json, field: string): void {
  if (Array.isArray(value)) for (const item of value) refuseNulInNames(item, field);
  if (!isObject(value)) return;
  for (const [name, item] of Object.entries(value)) {
    if (name.includes("\0")) throw new RequestError("invalid", field, NUL_WORDS);
    refuseNulInNames(item, field);
  }
}

/** The same for what stands in a URL. */
export function refuseNulIn(texts: Record<string, string>): void {
  for (const [name, text] of Object.entries(texts))
    if (text.includes("\0")) throw new RequestError("invalid", name, NUL_WORDS);
}
