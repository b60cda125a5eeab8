import { isObject, type Json } from "@signalbox/rules/json.ts";
import { createTexts, MIN_LENGTH, type Texts } from "./find-texts.ts";
import { mapScalars } from "./map-scalars.ts";

export const MASK = "•••";
/** In longer texts, all encodings are searched in one pass. In shorter ones, one by one is faster. */
const LONG = 64 * 1024;
/** Errors quote responses of servers, which can be long. */
const MAX_MESSAGE = 1_000;
/** Escapes that `JSON.stringify` does not write, or only for some characters. */
const ESCAPE = /\\[u/]/;

export interface Mask {
  text(text: string): string;
  json(value: Json): Json;
  /** Masks the text of JSON without parsing all of it. */
  jsonText(text: string): string;
  error<Masked extends { message: string; details?: Json | undefined }>(error: Masked): Masked;
}

/**
 * Replaces secrets in values that are stored or shown. It finds them unencoded, URL-encoded, escaped
 * in JSON strings, and in Base64, even within a longer text (`user:password`). It also finds trimmed
 * secrets, because HTTP trims header values. Messages are truncated after masking, because a truncated
 * secret would not be found.
 *
 * `prefix`: every token that starts with it is masked too, even if it is not known.
 */
export function createMask(secrets: readonly string[], prefix?: string): Mask {
  const encodings = [
    ...new Set(
      secrets.flatMap((secret) => [...encodingsOf(secret), ...encodingsOf(secret.trim())]),
    ),
  ]
    .filter((encoding) => encoding.length >= MIN_LENGTH)
    .sort((a, b) => b.length - a.length);
  const unknown = prefix === undefined ? undefined : new RegExp(`${prefix}[\\w-]{20,}`, "g");
  const findEncodings = lazy(() => createTexts(encodings));
  const maskText = (text: string): string => {
    let masked = unknown && text.includes(prefix as string) ? text.replaceAll(unknown, MASK) : text;
    if (masked.length > LONG) return maskRanges(masked, findEncodings().find(masked));
    for (const encoding of encodings)
      if (masked.includes(encoding)) masked = masked.replaceAll(encoding, MASK);
    return masked;
  };
  const walk = (value: Json): Json => {
    if (typeof value === "string") return maskText(value);
    if (typeof value === "number") return maskText(String(value)) === String(value) ? value : MASK;
    if (Array.isArray(value)) return value.map(walk);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [maskText(name), walk(item)]),
    );
  };
  const serialized = encodings.map((encoding) => JSON.stringify(encoding).slice(1, -1));
  const findSerialized = lazy(() => createTexts(serialized));
  const hasPrefix = (text: string) => prefix !== undefined && text.includes(prefix);
  const hasSecret = (text: string): boolean =>
    hasPrefix(text) ||
    (text.length > LONG
      ? findSerialized().isIn(text)
      : serialized.some((encoding) => text.includes(encoding)));
  const hasNothing = serialized.length === 0 && prefix === undefined;
  /** Most values contain no secret: then they are returned as they are. */
  const json = (value: Json): Json => {
    if (hasNothing) return value;
    const text = JSON.stringify(value) as string | undefined;
    return text !== undefined && hasSecret(text) ? walk(value) : value;
  };
  const isNumeric = serialized.some((encoding) => /^[-+.\de]+$/.test(encoding));
  const maskNumber = (token: string): string =>
    [token, String(Number(token))].some((text) => maskText(text) !== text)
      ? JSON.stringify(MASK)
      : token;
  const maskString = (token: string): string => {
    const value = JSON.parse(token) as string;
    if (!hasPrefix(value) && !findEncodings().isIn(value)) return token;
    const masked = maskText(value);
    return masked === value ? token : JSON.stringify(masked);
  };
  return {
    text: maskText,
    json,
    jsonText(text) {
      if (hasNothing) return text;
      const found = findSerialized().find(text);
      const isAnywhere = hasPrefix(text);
      // The text of others can escape any character, and can have the same number as 1.0e3.
      if (!isAnywhere && !isNumeric && found.length === 0 && !ESCAPE.test(text)) return text;
      const hasFound = isInOrder(found);
      const hasEscape = nextIn(text, "\\");
      return mapScalars(
        text,
        (token) => (token.startsWith('"') ? maskString(token) : maskNumber(token)),
        (from, to, isString) =>
          isString ? isAnywhere || hasFound(from, to) || hasEscape(from, to) : isNumeric,
      );
    },
    error: (error) => ({
      ...error,
      message: maskText(error.message).slice(0, MAX_MESSAGE),
      ...(error.details === undefined ? {} : { details: json(error.details) }),
    }),
  };
}

function maskRanges(text: string, ranges: readonly [number, number][]): string {
  if (ranges.length === 0) return text;
  const kept = ranges.map(([from], nth) => text.slice(ranges[nth - 1]?.[1] ?? 0, from));
  return `${kept.join(MASK)}${MASK}${text.slice(ranges.at(-1)?.[1])}`;
}

function lazy(create: () => Texts): () => Texts {
  let created: Texts | undefined;
  return () => {
    created ??= create();
    return created;
  };
}

/** Whether one of the ranges is in a part of the text. The parts must be given in order. */
function isInOrder(ranges: readonly [number, number][]) {
  let nth = 0;
  return (from: number, to: number): boolean => {
    while ((ranges[nth]?.[1] ?? Number.POSITIVE_INFINITY) <= from) nth += 1;
    return (ranges[nth]?.[0] ?? Number.POSITIVE_INFINITY) < to;
  };
}

/** Whether a character is in a part of the text. The parts must be given in order. */
function nextIn(text: string, character: string) {
  const find = (from: number) => {
    const at = text.indexOf(character, from);
    return at < 0 ? Number.POSITIVE_INFINITY : at;
  };
  let next = find(0);
  return (from: number, to: number): boolean => {
    if (next < from) next = find(from);
    return next < to;
  };
}

function encodingsOf(secret: string): string[] {
  if (secret.length < MIN_LENGTH) return [];
  const whole = secret.toWellFormed();
  const encoded = [
    encodeURIComponent(whole),
    new URLSearchParams([["", whole]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  ];
  return [secret, whole, ...encoded, ...base64Encodings(whole)];
}

/** Base64 encodes three bytes at a time, so the encoding depends on the offset of the secret. */
function base64Encodings(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].flatMap((offset) => {
    let binary = "\0".repeat(offset);
    for (const byte of bytes) binary += String.fromCharCode(byte);
    // Without the characters at both ends that also encode adjacent bytes.
    const [from, to] = [Math.ceil((offset * 8) / 6), Math.floor((binary.length * 8) / 6)];
    const characters = btoa(binary).slice(from, to);
    return [characters, characters.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
