import { isObject, type Json } from "@signalbox/rules/json.ts";
import { createTextSearch, MIN_LENGTH, type TextSearch } from "./find-texts.ts";
import { mapScalars } from "./json-text.ts";

export const MASK = "•••";
/**
 * A longer text is searched for all encodings in one pass. In a shorter text, a separate search for
 * each encoding is faster.
 */
const LONG_TEXT = 64 * 1024;
/** Messages of errors are truncated, because they quote responses of servers, which can be long. */
const MAX_MESSAGE_LENGTH = 1_000;
/** Matches escapes that `JSON.stringify` never writes, or writes for few characters only. */
const ESCAPE = /\\[u/]/;

export interface Mask {
  text(text: string): string;
  json(value: Json): Json;
  /** Masks serialized JSON without parsing all of it. */
  jsonText(text: string): string;
  error<Masked extends { message: string; details?: Json | undefined }>(error: Masked): Masked;
}

/**
 * Replaces secrets in values that are stored or shown. It finds them unencoded, URL-encoded, escaped
 * in JSON strings, and in Base64, even within a longer text (`user:password`). It also finds trimmed
 * secrets, because HTTP trims header values. Messages are truncated after masking, because a truncated
 * secret would not be found.
 *
 * Every token that starts with `prefix` is masked too, even if it is not one of the `secrets`.
 */
export function createMask(secrets: readonly string[], prefix?: string): Mask {
  const encodings = [
    ...new Set(
      secrets.flatMap((secret) => [...encodingsOf(secret), ...encodingsOf(secret.trim())]),
    ),
  ]
    .filter((encoding) => encoding.length >= MIN_LENGTH)
    .sort((a, b) => b.length - a.length);
  const tokenPattern = prefix === undefined ? undefined : new RegExp(`${prefix}[\\w-]{20,}`, "g");
  const encodingSearch = lazy(() => createTextSearch(encodings));
  const hasPrefix = (text: string) => prefix !== undefined && text.includes(prefix);
  const maskText = (text: string): string => {
    let masked = tokenPattern && hasPrefix(text) ? text.replaceAll(tokenPattern, MASK) : text;
    if (masked.length > LONG_TEXT) return maskRanges(masked, encodingSearch().find(masked));
    for (const encoding of encodings)
      if (masked.includes(encoding)) masked = masked.replaceAll(encoding, MASK);
    return masked;
  };
  const maskJson = (value: Json): Json => {
    if (typeof value === "string") return maskText(value);
    if (typeof value === "number") return maskText(String(value)) === String(value) ? value : MASK;
    if (Array.isArray(value)) return value.map(maskJson);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [maskText(name), maskJson(item)]),
    );
  };
  const serialized = encodings.map((encoding) => JSON.stringify(encoding).slice(1, -1));
  const serializedSearch = lazy(() => createTextSearch(serialized));
  const hasSecret = (text: string): boolean =>
    hasPrefix(text) ||
    (text.length > LONG_TEXT
      ? serializedSearch().hasMatch(text)
      : serialized.some((encoding) => text.includes(encoding)));
  const hasNothingToMask = serialized.length === 0 && prefix === undefined;
  /** Returns the value itself if it contains no secret, as most values do not. */
  const json = (value: Json): Json => {
    if (hasNothingToMask) return value;
    const text = JSON.stringify(value) as string | undefined;
    return text !== undefined && hasSecret(text) ? maskJson(value) : value;
  };
  const hasNumericSecret = serialized.some((encoding) => /^[-+.\de]+$/.test(encoding));
  const maskNumber = (token: string): string =>
    [token, String(Number(token))].some((text) => maskText(text) !== text)
      ? JSON.stringify(MASK)
      : token;
  const maskString = (token: string): string => {
    const value = JSON.parse(token) as string;
    if (!hasPrefix(value) && !encodingSearch().hasMatch(value)) return token;
    const masked = maskText(value);
    return masked === value ? token : JSON.stringify(masked);
  };
  return {
    text: maskText,
    json,
    jsonText(text) {
      if (hasNothingToMask) return text;
      const ranges = serializedSearch().find(text);
      const mayHaveToken = hasPrefix(text);
      // Other programs can escape any character, and can write the number 1000 as 1.0e3.
      if (!mayHaveToken && !hasNumericSecret && ranges.length === 0 && !ESCAPE.test(text))
        return text;
      const hasRange = createRangeCheck(ranges);
      const hasEscape = createCharacterCheck(text, "\\");
      return mapScalars(
        text,
        (token) => (token.startsWith('"') ? maskString(token) : maskNumber(token)),
        (from, to, isString) =>
          isString ? mayHaveToken || hasRange(from, to) || hasEscape(from, to) : hasNumericSecret,
      );
    },
    error: (error) => ({
      ...error,
      message: maskText(error.message).slice(0, MAX_MESSAGE_LENGTH),
      ...(error.details === undefined ? {} : { details: json(error.details) }),
    }),
  };
}

function maskRanges(text: string, ranges: readonly [number, number][]): string {
  if (ranges.length === 0) return text;
  const unmasked = ranges.map(([from], index) => text.slice(ranges[index - 1]?.[1] ?? 0, from));
  return `${unmasked.join(MASK)}${MASK}${text.slice(ranges.at(-1)?.[1])}`;
}

function lazy(create: () => TextSearch): () => TextSearch {
  let created: TextSearch | undefined;
  return () => {
    created ??= create();
    return created;
  };
}

/** Returns a function that tests whether a slice overlaps a range. Pass the slices in ascending order. */
function createRangeCheck(ranges: readonly [number, number][]) {
  let index = 0;
  return (from: number, to: number): boolean => {
    while ((ranges[index]?.[1] ?? Number.POSITIVE_INFINITY) <= from) index += 1;
    return (ranges[index]?.[0] ?? Number.POSITIVE_INFINITY) < to;
  };
}

/** Returns a function that tests whether a slice has the character. Pass the slices in ascending order. */
function createCharacterCheck(text: string, character: string) {
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
  const wellFormed = secret.toWellFormed();
  const encoded = [
    encodeURIComponent(wellFormed),
    new URLSearchParams([["", wellFormed]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  ];
  return [secret, wellFormed, ...encoded, ...base64Encodings(wellFormed)];
}

/** Base64 encodes three bytes at a time, so the encoding depends on the offset of the secret. */
function base64Encodings(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].flatMap((offset) => {
    let binary = "\0".repeat(offset);
    for (const byte of bytes) binary += String.fromCharCode(byte);
    // The characters at both ends also encode adjacent bytes, so they are removed.
    const [from, to] = [Math.ceil((offset * 8) / 6), Math.floor((binary.length * 8) / 6)];
    const characters = btoa(binary).slice(from, to);
    return [characters, characters.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
