import { TOO_LARGE } from "./read-json.ts";

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
