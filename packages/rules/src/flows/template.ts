/**
 * Templates are text with references in `{{ … }}`:
 *
 *     {{ trigger.city }}  {{ fetch.items[0].name }}  {{ fetch["key with spaces"] }}  {{ fetch.note? }}
 *
 * The root of a reference is `trigger`, `secrets`, the slug of a preceding node, or (in a loop) `item`
 * or `index`. `?` makes a reference optional. `\{{` is a literal `{{`. There are no expressions.
 */
import { writePath } from "./issues.ts";

interface TextPart {
  kind: "text";
  text: string;
  start: number;
  end: number;
}

export interface Reference {
  kind: "reference";
  root: string;
  /** The index of the root in the template. */
  rootStart: number;
  path: readonly (string | number)[];
  optional: boolean;
  start: number;
  end: number;
}

export interface TemplateError {
  message: string;
  /** The index of the first unexpected character, from 0. */
  position: number;
}

export interface Template {
  parts: readonly (TextPart | Reference)[];
  /** Errors in references. An invalid reference is a text part. */
  errors: readonly TemplateError[];
}

export function parseTemplate(source: string): Template {
  const parts: (TextPart | Reference)[] = [];
  const errors: TemplateError[] = [];
  let text = "";
  let textStart = 0;
  const endText = (at: number) => {
    if (text) parts.push({ kind: "text", text, start: textStart, end: at });
    text = "";
  };
  let at = 0;
  while (at < source.length) {
    const open = source.indexOf("{{", at);
    if (open === -1) break;
    // A backslash is an escape character only before `{{`: `\\` is one backslash, `\{{` a literal `{{`.
    let from = open;
    while (from > at && source[from - 1] === "\\") from--;
    const backslashes = open - from;
    text += source.slice(at, from) + "\\".repeat(Math.floor(backslashes / 2));
    if (backslashes % 2 === 1) {
      text += "{{";
      at = open + 2;
      continue;
    }
    const reference = readReference(source, open);
    if ("message" in reference) {
      errors.push(reference);
      text += "{{";
      at = open + 2;
      continue;
    }
    endText(open);
    parts.push(reference);
    at = reference.end;
    textStart = at;
  }
  text += source.slice(at);
  endText(source.length);
  return { parts, errors };
}

const SPACE = /\s*/y;
const ROOT = /[\p{L}_][\p{L}\p{N}_-]*/uy;
const STEP = /\.([^\s.[\]"'{}?]+)|\[(\d{1,9})\]|\["((?:[^"\\]|\\.)*)"\]/sy;

function readReference(source: string, start: number): Reference | TemplateError {
  let at = start + 2;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    if (match) at = pattern.lastIndex;
    return match;
  };
  take(SPACE);
  const rootStart = at;
  const root = take(ROOT)?.[0];
  if (root === undefined) return unexpected(source, at, "a name such as trigger");
  const path: (string | number)[] = [];
  for (let step = take(STEP); step; step = take(STEP)) {
    const [, name, index, quoted] = step;
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else path.push((quoted ?? "").replaceAll(/\\(.)/gs, "$1"));
  }
  take(SPACE);
  const optional = source[at] === "?";
  if (optional) {
    at++;
    take(SPACE);
  }
  if (!source.startsWith("}}", at)) return unexpected(source, at, "}}");
  return { kind: "reference", root, rootStart, path, optional, start, end: at + 2 };
}

function unexpected(source: string, position: number, expected: string): TemplateError {
  const character = String.fromCodePoint(source.codePointAt(position) ?? 0);
  const actual = position < source.length ? `found ${character}` : "the text ends";
  return { message: `expected ${expected} at character ${position}, but ${actual}`, position };
}

/** The source of a reference without braces: `fetch.items[0].name`. */
export const writeReference = ({ root, path }: Pick<Reference, "root" | "path">): string =>
  writePath([root, ...path]);

/** If the template is a single reference, returns it: rendering then keeps the type of the value. */
export const soleReference = ({ parts }: Template): Reference | undefined => {
  const [first] = parts;
  return parts.length === 1 && first?.kind === "reference" ? first : undefined;
};
