/** Decodes a request body into a JSON object, or into a rejection that names the error. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { hasMoreValues, isTextDeeperThan } from "../lib/json-text.ts";
import { isRejection, type Rejection, rejection } from "./ingest-outcome.ts";

export const FORM = "application/x-www-form-urlencoded";

/** A content type without its parameters. */
export const mediaType = (contentType: string): string =>
  (contentType.split(";", 1)[0] ?? "").trim().toLowerCase();

/** No known sender nests payloads deeper, and recursive functions can process this depth. */
export const MAX_DEPTH = 128;

const MAX_FORM_FIELDS = 10_000;

const decoder = new TextDecoder("utf-8", { fatal: true });

export function decodeText(bytes: Uint8Array): string | Rejection {
  if (bytes.byteLength === 0)
    return rejection("empty_body", "The request has no body; send the event as a JSON object.");
  try {
    return decoder.decode(bytes);
  } catch {
    return rejection("invalid_utf8", "The body contains bytes that are not valid UTF-8.");
  }
}

export function decodeJson(text: string, maxValues?: number): { value: Json } | Rejection {
  if (maxValues !== undefined && hasMoreValues(text, maxValues))
    return rejection(
      "too_many_values",
      `The body has more than ${maxValues} values, which is the limit. Send less in one webhook, or raise SIGNALBOX_MAX_WEBHOOK_VALUES.`,
    );
  if (isTooDeep(text))
    return rejection("too_deep", `The body is nested deeper than ${MAX_DEPTH} levels.`);
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return rejection("invalid_json", `The body is not valid JSON: ${reasonOf(error)}.`);
  }
}

export interface DecodeOptions {
  /** Rejects a form without the field `payload`. */
  requiresFormPayload?: boolean;
  maxValues?: number | undefined;
}

export function decodeObject(
  contentType: string,
  bytes: Uint8Array,
  options: DecodeOptions = {},
): { object: JsonObject } | Rejection {
  const text = decodeText(bytes);
  if (typeof text !== "string") return text;
  if (contentType === FORM) return decodeForm(text, options);
  const json = decodeJson(text, options.maxValues);
  return isRejection(json) ? json : asObject(json.value);
}

export function asObject(value: Json): { object: JsonObject } | Rejection {
  if (isObject(value)) return { object: value };
  const actual = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  return rejection("not_an_object", `The body must be a JSON object, but is ${actual}.`);
}

/**
 * If a form has the field `payload`, that field contains the event as JSON. Otherwise its fields are
 * the event.
 */
export function decodeForm(
  text: string,
  { requiresFormPayload = false, maxValues }: DecodeOptions = {},
): { object: JsonObject } | Rejection {
  if (hasMoreFields(text))
    return rejection(
      "too_many_values",
      `The form has more than ${MAX_FORM_FIELDS} fields, which is the limit. Send the event as JSON.`,
    );
  const fields = new URLSearchParams(text);
  const payload = fields.get("payload");
  if (payload === null)
    return requiresFormPayload
      ? rejection("missing_field", "The form lacks the field payload with the event as JSON.")
      : { object: Object.fromEntries(fields) };
  const json = decodeJson(payload, maxValues);
  return isRejection(json) ? json : asObject(json.value);
}

function hasMoreFields(text: string): boolean {
  let separators = 0;
  for (let at = text.indexOf("&"); at >= 0; at = text.indexOf("&", at + 1)) {
    separators += 1;
    if (separators >= MAX_FORM_FIELDS) return true;
  }
  return false;
}

const reasonOf = (error: unknown) =>
  (error instanceof Error ? error.message : String(error)).slice(0, 200);

/**
 * Tracks the depth only if the text has more than `limit` opening brackets. Counting them is much
 * cheaper, and sufficient for nearly every payload.
 */
export function isTooDeep(text: string): boolean {
  let openings = 0;
  for (const bracket of ["{", "["])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      openings += 1;
      if (openings > MAX_DEPTH) return isTextDeeperThan(MAX_DEPTH, text);
    }
  return false;
}
