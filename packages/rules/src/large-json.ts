/**
 * Large JSON stays text in the thread that serves requests: parsing it, or reading the parsed value,
 * could block the thread for seconds. Code that must read a large value runs in a job. See
 * docs/decisions/0021-large-values-stay-text.md.
 */
import { isObject, type Json } from "./json.ts";

/** JSON with more bytes is large. Code that has the JSON as a string compares its length instead. */
export const LARGE_BYTES = 256 * 1024;

/** The maximum size of the input and of the output of a step. */
export const MAX_VALUE_MB = 8;
export const MAX_VALUE_BYTES = MAX_VALUE_MB * 1_000_000;

/** JSON that is not parsed, because it is large. */
export class LargeJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The number of characters of the text. */
  get length(): number {
    return this.text.length;
  }

  /** `JSON.stringify` cannot write unparsed JSON; `writeJson` can. */
  toJSON(): never {
    throw new HasLargeJson();
  }
}

export type MaybeLarge = Json | LargeJson;

/** JSON in which any value can be large. */
export type MixedJson = MaybeLarge | readonly MixedJson[] | MixedObject;
export type MixedObject = { readonly [name: string]: MixedJson | undefined };

class HasLargeJson extends TypeError {
  constructor() {
    super("A LargeJson must be written with writeJson.");
  }
}

/** `text` must be valid JSON. A string is always parsed, since that costs little. */
export const parseUnlessLarge = (text: string): MaybeLarge =>
  text.length > LARGE_BYTES && !text.startsWith('"')
    ? new LargeJson(text)
    : (JSON.parse(text) as Json);

/** Use this only for values whose size the hub limits: parsing blocks the thread. */
export const parseIfLarge = (value: MaybeLarge): Json =>
  value instanceof LargeJson ? (JSON.parse(value.text) as Json) : value;

/** Like `JSON.stringify`, but accepts large values, and copies their text. */
export function writeJson(value: MixedJson): string {
  try {
    // Most values contain no large ones, and `JSON.stringify` is the fastest for them.
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof HasLargeJson)) throw error;
    return writeMixed(value);
  }
}

const writeMixed = (value: MixedJson): string =>
  value instanceof LargeJson ? value.text : writeMembers(value, writeMixed);

/** Like `JSON.stringify`, but calls `write` for each item of an array and each member of an object. */
export function writeMembers(
  value: Exclude<MixedJson, LargeJson>,
  write: (member: MixedJson) => string,
): string {
  if (Array.isArray(value)) return `[${value.map((item) => write(item ?? null)).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value as MixedObject).flatMap(([name, member]) =>
    member === undefined ? [] : [`${JSON.stringify(name)}:${write(member)}`],
  );
  return `{${members.join(",")}}`;
}
