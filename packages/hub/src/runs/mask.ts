import { isObject, type Json } from "@signalbox/rules/json.ts";
import type { RunError } from "../store/run-store.ts";

export const MASK = "•••";
/** Shorter ones would turn up in any text. */
const SHORTEST = 4;
/** Errors quote what servers say, which may be long. */
const LONGEST_MESSAGE = 1_000;

export interface Mask {
  text(text: string): string;
  json(value: Json): Json;
  error(error: RunError): RunError;
}

/**
 * Takes secrets out of what is kept or shown: as they are, and as they stand in URLs, in JSON that
 * is itself a text, and in Base64, also in the middle of it (`user:password`). HTTP takes whitespace
 * off the ends of headers, so without that as well. Errors are cut only then: half a secret is not found.
 */
export function createMask(secrets: readonly string[]): Mask {
  const spellings = [
    ...new Set(secrets.flatMap((secret) => [...spell(secret), ...spell(secret.trim())])),
  ]
    .filter((spelling) => spelling.length >= SHORTEST)
    .sort((a, b) => b.length - a.length);
  const clean = (text: string): string => {
    let cleaned = text;
    for (const spelling of spellings)
      if (cleaned.includes(spelling)) cleaned = cleaned.replaceAll(spelling, MASK);
    return cleaned;
  };
  const walk = (value: Json): Json => {
    if (typeof value === "string") return clean(value);
    if (typeof value === "number") return clean(String(value)) === String(value) ? value : MASK;
    if (Array.isArray(value)) return value.map(walk);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [clean(name), walk(item)]),
    );
  };
  const json = (value: Json): Json => (spellings.length === 0 ? value : walk(value));
  return {
    text: clean,
    json,
    error: (error) => ({
      ...error,
      message: clean(error.message).slice(0, LONGEST_MESSAGE),
      ...(error.details === undefined ? {} : { details: json(error.details) }),
    }),
  };
}

function spell(secret: string): string[] {
  if (secret.length < SHORTEST) return [];
  const whole = secret.toWellFormed();
  const encoded = [
    encodeURIComponent(whole),
    new URLSearchParams([["", whole]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1),
  ];
  return [secret, whole, ...encoded, ...inBase64(whole)];
}

/** Base64 takes three bytes at a time, so what stands before the secret shifts it in three ways. */
function inBase64(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  return [0, 1, 2].flatMap((shift) => {
    let binary = "\0".repeat(shift);
    for (const byte of bytes) binary += String.fromCharCode(byte);
    // Letters at both ends that also tell of the neighbours are left out.
    const [from, to] = [Math.ceil((shift * 8) / 6), Math.floor((binary.length * 8) / 6)];
    const letters = btoa(binary).slice(from, to);
    return [letters, letters.replaceAll("+", "-").replaceAll("/", "_")];
  });
}
