/** Finds the fields of a summary in a payload, whatever the payload turns out to hold. */
import { at, type Json, type JsonObject } from "../source.ts";

/** A path into the payload, or a way to make a text out of several places. */
export type Where = string | ((body: JsonObject) => string | null);

/** The first place with a text in it. */
export const pickText = (body: JsonObject, ...places: readonly Where[]): string | null =>
  pick(body, places, isText);

/** Only addresses of the web: whoever shows a summary may make a link of it. */
export const pickUrl = (body: JsonObject, ...places: readonly Where[]): string | null =>
  pick(body, places, isWebAddress);

export function pickNumber(body: JsonObject, ...paths: readonly string[]): number | null {
  for (const path of paths) {
    const found = at(body, path);
    if (typeof found === "number" && Number.isSafeInteger(found)) return found;
  }
  return null;
}

function pick(
  body: JsonObject,
  places: readonly Where[],
  fits: (value: Json | undefined) => value is string,
): string | null {
  for (const place of places) {
    const found = typeof place === "string" ? at(body, place) : place(body);
    if (fits(found)) return found;
  }
  return null;
}

const isText = (value: Json | undefined): value is string =>
  typeof value === "string" && /\S/.test(value);

const isWebAddress = (value: Json | undefined): value is string =>
  typeof value === "string" && /^https?:\/\//i.test(value);

export const firstFound =
  (...places: readonly Where[]): Where =>
  (body) =>
    pickText(body, ...places);

/** All of them that are there; what two places say alike is said once. */
export const joined =
  (separator: string, ...places: readonly Where[]): Where =>
  (body) =>
    places
      .map((place) => pickText(body, place))
      .filter((text, index, all) => text !== null && all.indexOf(text) === index)
      .join(separator);

export const firstLine =
  (place: Where): Where =>
  (body) =>
    pickText(body, place)
      ?.trimStart()
      .split(/[\r\n]/, 1)[0] ?? null;

/** A branch or a tag by the name that people know. */
export const shortRef =
  (path: string): Where =>
  (body) =>
    pickText(body, path)?.replace(/^refs\/(?:heads|tags)\//, "") ?? null;
