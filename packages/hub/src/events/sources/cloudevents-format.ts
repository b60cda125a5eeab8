/** Validates CloudEvents 1.0 in JSON form, and converts events in binary mode to JSON form. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { decodeJson, decodeText, mediaType } from "../../kernel/http/decode.ts";
import { isRejection, type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import { toBase64 } from "../../kernel/lib/bytes.ts";

export const STRUCTURED = "application/cloudevents+json";
export const BATCHED = "application/cloudevents-batch+json";

export interface CloudEvent extends JsonObject {
  id: string;
  source: string;
  type: string;
}

/** Validates an event in JSON form; `where` is its position in a batch, for error messages. */
export function checkEvent(event: Json, where = ""): CloudEvent | Rejection {
  const invalid = (detail: string) =>
    rejection("invalid_field", `${where ? `${where}: ` : ""}${detail}`);
  if (!isObject(event)) return invalid("a CloudEvent must be a JSON object.");
  if (event.specversion !== "1.0")
    return invalid(`specversion must be "1.0", but is ${formatValue(event.specversion)}.`);
  for (const name of ["id", "source", "type"]) {
    const value = event[name];
    if (typeof value !== "string" || value === "")
      return invalid(`${name} must be a non-empty string, but is ${formatValue(value)}.`);
  }
  const { data_base64 = null } = event;
  if (data_base64 !== null && typeof data_base64 !== "string")
    return invalid("data_base64 must be a string.");
  if (data_base64 !== null && event.data !== undefined)
    return invalid("data and data_base64 must not both be set.");
  if (data_base64 !== null && !isBase64(data_base64)) return invalid("data_base64 is not base64.");
  const { time = null } = event;
  if (time !== null && !(typeof time === "string" && isTimestamp(time)))
    return invalid(
      `time must be an RFC 3339 timestamp such as 2026-01-05T09:30:00Z, but is ${formatValue(time)}.`,
    );
  return event as CloudEvent;
}

const isBase64 = (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

/** RFC 3339 is stricter than `Date.parse`, but allows leap seconds. */
const isTimestamp = (text: string) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text) &&
  !Number.isNaN(Date.parse(text.toUpperCase().replace(/:60(?=\D)/, ":59")));

const formatValue = (value: Json | undefined) =>
  value === undefined ? "missing" : JSON.stringify(value).slice(0, 100);

/** Reads the attributes, including extensions, from the headers `ce-…`. */
export function attributesFrom(headers: Iterable<[string, string]>): JsonObject | Rejection {
  const attributes: JsonObject = {};
  for (const [header, value] of headers) {
    const name = /^ce-([a-z0-9]+)$/.exec(header)?.[1];
    // The content type has its own header, and CloudEvents forbids an attribute named data.
    if (name === undefined || name === "data" || name === "datacontenttype") continue;
    const decoded = decodeHeaderValue(value);
    if (decoded === undefined)
      return rejection(
        "invalid_header",
        `The header ${header} is not percent-encoded UTF-8, as CloudEvents requires.`,
      );
    attributes[name] = decoded;
  }
  return attributes;
}

/** Removes quotes, then percent-decodes once: the order that the HTTP binding requires. */
export function decodeHeaderValue(value: string): string | undefined {
  if (/[^\x20-\x7e]/.test(value)) return undefined;
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1];
  try {
    return decodeURIComponent(quoted === undefined ? value : quoted.replace(/\\(.)/g, "$1"));
  } catch {
    return undefined;
  }
}

/** Converts an event in binary mode to JSON form. */
export function structuredForm(
  headers: Iterable<[string, string]>,
  contentType: string,
  bytes: Uint8Array,
  maxValues?: number,
): JsonObject | Rejection {
  const attributes = attributesFrom(headers);
  if (isRejection(attributes)) return attributes;
  const data = dataOf(contentType, bytes, maxValues);
  if (isRejection(data)) return data;
  return {
    ...attributes,
    ...(contentType ? { datacontenttype: contentType } : {}),
    ...data,
  };
}

function dataOf(
  contentType: string,
  bytes: Uint8Array,
  maxValues: number | undefined,
): JsonObject | Rejection {
  if (bytes.byteLength === 0) return {};
  const type = mediaType(contentType);
  const text = isJson(type) || isTextual(type) ? decodeText(bytes) : undefined;
  if (isJson(type) && text !== undefined) {
    if (isRejection(text)) return text;
    const json = decodeJson(text, maxValues);
    return isRejection(json) ? json : { data: json.value };
  }
  return typeof text === "string" ? { data: text } : { data_base64: toBase64(bytes) };
}

/** As in the JSON format, a missing content type means JSON. */
const isJson = (type: string) => type === "" || type.endsWith("/json") || type.endsWith("+json");
const isTextual = (type: string) => /^text\/|[/+]xml$/.test(type);
