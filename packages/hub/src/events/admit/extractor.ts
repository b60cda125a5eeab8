/** Extractors read one value, such as a delivery id or an event type, from a verified request. */

import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";

/** A request whose signature is valid. */
export interface VerifiedRequest {
  contentType: string;
  /** The value of a header, or undefined. A repeated header is rejected after decoding. */
  header(name: string): string | undefined;
  /** The names of all headers, in lower case. */
  headerNames(): Iterable<string>;
  bytes: Uint8Array;
  config: Record<string, unknown>;
  /** The maximum number of JSON values in the body; undefined if the body is small. */
  maxValues?: number;
}

/** A verified request with its parsed body. */
export interface ParsedRequest extends VerifiedRequest {
  body: JsonObject;
}

export interface Extractor {
  /** Names the value in the error message when it is missing. */
  describe: string;
  reason: "missing_header" | "missing_field";
  find(request: ParsedRequest): Extracted | undefined;
}

export interface Extracted {
  text: string;
  in: "header" | "field";
}

/** An empty id or type counts as missing. */
const toExtracted = (text: string | undefined, where: Extracted["in"]): Extracted | undefined =>
  text ? { text, in: where } : undefined;

export const header = (name: string): Extractor => ({
  describe: `the header ${name}`,
  reason: "missing_header",
  find: (request) => toExtracted(request.header(name.toLowerCase()), "header"),
});

/** Reads a field of the body by its path, such as `event.type`. */
export const field = (path: string): Extractor => ({
  describe: `the field ${path}`,
  reason: "missing_field",
  find(request) {
    const value = valueAt(request.body, path);
    const isText = typeof value === "string" || typeof value === "number";
    return isText ? toExtracted(String(value), "field") : undefined;
  },
});

/** Returns the result of the first extractor that finds a value. */
export const either = (...extractors: [Extractor, ...Extractor[]]): Extractor => ({
  describe: extractors.map((extractor) => extractor.describe).join(" or "),
  reason: extractors[0].reason,
  find(request) {
    for (const extractor of extractors) {
      const value = extractor.find(request);
      if (value) return value;
    }
    return undefined;
  },
});

export const fixed = (value: string): Extractor => ({
  describe: `the value ${value}`,
  reason: "missing_field",
  find: () => toExtracted(value, "field"),
});

/** Caches split paths, because nearly all paths are constants of the source definitions. */
const splitPaths = new BoundedMap<string, readonly string[]>(2_000);

/** Returns the value at a path such as `event.type` or `pages.0.title`. */
export function valueAt(body: Json | undefined, path: string): Json | undefined {
  let names = splitPaths.get(path);
  if (!names) {
    names = path.split(".");
    splitPaths.set(path, names);
  }
  let value: Json | undefined = body;
  for (const name of names) {
    if (Array.isArray(value)) value = /^\d+$/.test(name) ? value[Number(name)] : undefined;
    else if (isObject(value)) value = Object.hasOwn(value, name) ? value[name] : undefined;
    else return undefined;
  }
  return value;
}
