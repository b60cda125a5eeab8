/**
 * Large JSON stays text in the thread that serves requests: parsing it, or reading the parsed value,
 * could block the thread for seconds. What must look inside runs in the sandbox. See
 * docs/decisions/0021-large-values-stay-text.md.
 */
import { isObject, type Json } from "./json.ts";

/** JSON with more bytes, or a text with more characters, is large. */
export const LARGE_BYTES = 256 * 1024;

/** The text of JSON that is not parsed. `parseUnlessLarge` creates it, so that it is never small. */
export class LargeJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** In characters. */
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

/** Parses also large JSON. Only for results of the hub's own programs, whose size it limits. */
export const parsed = (value: MaybeLarge): Json =>
  value instanceof LargeJson ? (JSON.parse(value.text) as Json) : value;

/** Like `JSON.stringify`. Writes large values as they are; a value without any is not slower. */
export function writeJson(value: MixedJson): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof HasLargeJson)) throw error;
    return join(value);
  }
}

const join = (value: MixedJson): string =>
  value instanceof LargeJson ? value.text : writeMembers(value, join);

/** Like `JSON.stringify`, with `write` for the items of an array and the members of an object. */
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
