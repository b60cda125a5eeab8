/** Reads the JSON body of a request, with limits for its bytes, values and nesting. */
import type { Json } from "@signalbox/rules/json.ts";
import { DEFAULT_BODY_LIMITS, MAX_DISCARDED_BYTES } from "../lib/limits.ts";
import { parseJson } from "../lib/parse-json.ts";

/** Returned instead of a body that exceeds the limit. */
export const TOO_LARGE = Symbol("too large");
export const tooLargeMessage = (maxBytes: number): string =>
  `The body exceeds the limit of ${maxBytes} bytes.`;

export async function readJson(
  body: ReadableStream<Uint8Array> | null,
  maxBytes = DEFAULT_BODY_LIMITS.bodyBytes,
  maxValues = DEFAULT_BODY_LIMITS.values,
): Promise<Json | typeof TOO_LARGE> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    // Reads on above `maxBytes`: many clients read the response only after they have sent the body.
    if (size > MAX_DISCARDED_BYTES) break;
    if (size <= maxBytes) text += decoder.decode(chunk, { stream: true });
    else text = ""; // releases the memory
  }
  if (size > maxBytes) return TOO_LARGE;
  text += decoder.decode();
  return text === "" ? {} : parseJson(text, "body", maxValues);
}

/** Reads a body as text, up to a limit. */
export async function readText(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<string | typeof TOO_LARGE> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) return TOO_LARGE;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
