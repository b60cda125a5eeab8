/** Bytes → a JSON object, or a rejection that says what is wrong with them. */

import { isRejection, type Rejection, rejection } from "./ingest-outcome.ts";
import type { Json, JsonObject } from "./source.ts";

export const FORM = "application/x-www-form-urlencoded";

/** A content type without its parameters. */
export const mediaType = (contentType: string): string =>
  (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();

/** Deeper than any sender goes, and shallow enough for whoever walks the value later. */
const MAX_DEPTH = 128;

const decoder = new TextDecoder("utf-8", { fatal: true });

export function decodeText(bytes: Uint8Array): string | Rejection {
  if (bytes.byteLength === 0)
    return rejection("empty_body", "The request has no body; send the event as a JSON object.");
  try {
    return decoder.decode(bytes);
  } catch {
    return rejection("invalid_utf8", "The body holds bytes that are not valid UTF-8.");
  }
}

export function decodeJson(text: string): { value: Json } | Rejection {
  if (nestsDeeperThan(text, MAX_DEPTH))
    return rejection("too_deep", `The body nests deeper than ${MAX_DEPTH} levels.`);
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return rejection("invalid_json", `The body is not valid JSON: ${reasonOf(error)}.`);
  }
}

export function decodeObject(
  contentType: string,
  bytes: Uint8Array,
): { object: JsonObject } | Rejection {
  const text = decodeText(bytes);
  if (typeof text !== "string") return text;
  if (contentType === FORM) return decodeForm(text);
  const json = decodeJson(text);
  return isRejection(json) ? json : asObject(json.value);
}

function asObject(value: Json): { object: JsonObject } | Rejection {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return { object: value };
  const found = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  return rejection("not_an_object", `The body must be a JSON object, but is ${found}.`);
}

/** A form either carries the JSON in its field `payload`, or is itself the event. */
export function decodeForm(text: string): { object: JsonObject } | Rejection {
  const fields = new URLSearchParams(text);
  const payload = fields.get("payload");
  if (payload === null) return { object: Object.fromEntries(fields) };
  const json = decodeJson(payload);
  return isRejection(json) ? json : asObject(json.value);
}

const reasonOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).replace(/^.*?: /, "").slice(0, 200);

/**
 * Few opening brackets cannot nest deeply: counting them is a fraction of a full scan, and decides
 * nearly every payload. Only the rest is scanned character by character.
 */
function nestsDeeperThan(text: string, limit: number): boolean {
  let openings = 0;
  for (const bracket of ["{", "["])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      openings += 1;
      if (openings > limit) return depthExceeds(text, limit);
    }
  return false;
}

function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}
