/** CloudEvents 1.0 as JSON objects: what makes one valid, and the binary mode's headers read as one. */
import { toBase64 } from "../../lib/hmac.ts";
import { decodeJson, decodeText, mediaType } from "../decode.ts";
import { isRejection, type Rejection, rejection } from "../ingest-outcome.ts";
import { isObject, type Json, type JsonObject } from "../source.ts";

export const STRUCTURED = "application/cloudevents+json";
export const BATCHED = "application/cloudevents-batch+json";

export interface CloudEvent extends JsonObject {
  id: string;
  source: string;
  type: string;
}

/** What is wrong with an event in JSON form; `where` names its place in a batch. */
export function checkEvent(event: Json, where = ""): CloudEvent | Rejection {
  const invalid = (detail: string) =>
    rejection("invalid_field", `${where ? `${where}: ` : ""}${detail}`);
  if (!isObject(event)) return invalid("a CloudEvent must be a JSON object.");
  if (event.specversion !== "1.0")
    return invalid(`specversion must be "1.0", but is ${shown(event.specversion)}.`);
  for (const name of ["id", "source", "type"]) {
    const value = event[name];
    if (typeof value !== "string" || value === "")
      return invalid(`${name} must be a text that is not empty, but is ${shown(value)}.`);
  }
  const { data_base64 = null } = event;
  if (data_base64 !== null && typeof data_base64 !== "string")
    return invalid("data_base64 must be a text.");
  if (data_base64 !== null && event.data !== undefined)
    return invalid("data and data_base64 exclude each other.");
  if (data_base64 !== null && !isBase64(data_base64)) return invalid("data_base64 is not base64.");
  const { time = null } = event;
  if (time !== null && !(typeof time === "string" && isTimestamp(time)))
    return invalid(`time must be as in 2026-01-05T09:30:00Z, but is ${shown(time)}.`);
  return event as CloudEvent;
}

const isBase64 = (text: string) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

/** RFC 3339, which is stricter than what `Date` takes, but for its leap seconds. */
const isTimestamp = (text: string) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text) &&
  !Number.isNaN(Date.parse(text.toUpperCase().replace(/:60(?=\D)/, ":59")));

const shown = (value: Json | undefined) =>
  value === undefined ? "missing" : JSON.stringify(value).slice(0, 100);

/** The attributes, from the headers `ce-…`: extensions too, whatever they are called. */
export function attributesFrom(headers: Iterable<[string, string]>): JsonObject | Rejection {
  const attributes: JsonObject = {};
  for (const [header, value] of headers) {
    const name = /^ce-([a-z0-9]+)$/.exec(header)?.[1];
    // The content type has a header of its own, and no attribute may be called data.
    if (name === undefined || name === "data" || name === "datacontenttype") continue;
    const decoded = decodeHeaderValue(value);
    if (decoded === undefined)
      return rejection(
        "invalid_header",
        `The header ${header} is not percent-encoded UTF-8, as CloudEvents asks for.`,
      );
    attributes[name] = decoded;
  }
  return attributes;
}

/** Quotes go first, then one round of percent-decoding: the order that the HTTP binding asks for. */
export function decodeHeaderValue(value: string): string | undefined {
  if (/[^\x20-\x7e]/.test(value)) return undefined;
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(value)?.[1];
  try {
    return decodeURIComponent(quoted === undefined ? value : quoted.replace(/\\(.)/g, "$1"));
  } catch {
    return undefined;
  }
}

/** An event of the binary mode in JSON form. */
export function structuredForm(
  headers: Iterable<[string, string]>,
  contentType: string,
  bytes: Uint8Array,
): JsonObject | Rejection {
  const attributes = attributesFrom(headers);
  if (isRejection(attributes)) return attributes;
  const data = dataOf(contentType, bytes);
  if (isRejection(data)) return data;
  return {
    ...attributes,
    ...(contentType ? { datacontenttype: contentType } : {}),
    ...data,
  };
}

function dataOf(contentType: string, bytes: Uint8Array): JsonObject | Rejection {
  if (bytes.byteLength === 0) return {};
  const type = mediaType(contentType);
  const text = isJson(type) || isTextual(type) ? decodeText(bytes) : undefined;
  if (isJson(type) && text !== undefined) {
    if (isRejection(text)) return text;
    const json = decodeJson(text);
    return isRejection(json) ? json : { data: json.value };
  }
  return typeof text === "string" ? { data: text } : { data_base64: toBase64(bytes) };
}

/** No content type at all means JSON, as in the JSON format. */
const isJson = (type: string) => type === "" || type.endsWith("/json") || type.endsWith("+json");
const isTextual = (type: string) => /^text\/|[/+]xml$/.test(type);
