/** Picks the fields of a summary from an arbitrary payload. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { valueAt } from "../admit/extractor.ts";

/** A path into the payload, or a function that builds a text from several fields. */
export type TextPicker = string | ((body: JsonObject) => string | null);

/** Returns the first text that is not blank. */
export const pickText = (body: JsonObject, ...pickers: readonly TextPicker[]): string | null =>
  pickFirst(body, pickers, isText);

/** Returns the first http(s) URL. Clients may render it as a link, so other schemes are skipped. */
export const pickUrl = (body: JsonObject, ...pickers: readonly TextPicker[]): string | null =>
  pickFirst(body, pickers, isWebUrl);

export function pickNumber(body: JsonObject, ...paths: readonly string[]): number | null {
  for (const path of paths) {
    const value = valueAt(body, path);
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  }
  return null;
}

export function pickFirst(
  body: JsonObject,
  pickers: readonly TextPicker[],
  accepts: (value: Json | undefined) => value is string,
): string | null {
  for (const picker of pickers) {
    const value = typeof picker === "string" ? valueAt(body, picker) : picker(body);
    if (accepts(value)) return value;
  }
  return null;
}

const isText = (value: Json | undefined): value is string =>
  typeof value === "string" && /\S/.test(value);

export const isWebUrl = (value: Json | undefined): value is string =>
  typeof value === "string" && /^https?:\/\//i.test(value);

export const firstFound =
  (...pickers: readonly TextPicker[]): TextPicker =>
  (body) =>
    pickText(body, ...pickers);

/** Joins the distinct values that exist. */
export const joined =
  (separator: string, ...pickers: readonly TextPicker[]): TextPicker =>
  (body) =>
    pickers
      .map((picker) => pickText(body, picker))
      .filter((text, index, all) => text !== null && all.indexOf(text) === index)
      .join(separator);

export const firstLine =
  (picker: TextPicker): TextPicker =>
  (body) =>
    pickText(body, picker)
      ?.trimStart()
      .split(/[\r\n]/, 1)[0] ?? null;

/** A branch or tag without its `refs/…/` prefix. */
export const shortRef =
  (path: string): TextPicker =>
  (body) =>
    pickText(body, path)?.replace(/^refs\/(?:heads|tags)\//, "") ?? null;
