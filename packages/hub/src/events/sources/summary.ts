/**
 * The summary of a payload: pickers of its fields for the files of the sources, a summary by common field
 * names, and the limits of every summary.
 */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { valueAt } from "../admit/source.ts";
import type { CheckResult, Summary } from "../model.ts";

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

const titles = ["title", "name", "subject", "summary", "message", "text", "description"];
const urls = ["html_url", "web_url", "url", "link"];
const senders = ["sender", "actor", "user", "author"];
const nameFields = ["login", "username", "name", "email"];

/** Searches the top level first, then `data`, the usual field of envelopes. */
const paths = (names: string[]) => [...names, ...names.map((name) => `data.${name}`)];

// Built once: building them for every event would cost as much as reading the fields.
const actionPaths = paths(["action"]);
const senderPaths = paths(
  senders.flatMap((sender) => [sender, ...nameFields.map((name) => `${sender}.${name}`)]),
);
const numberPaths = paths(["number"]);
const titlePickers = paths(titles).map(firstLine);
const urlPaths = paths(urls);

/** Summarizes a payload without a known shape by common field names. */
export const summarizePlain = (body: JsonObject): Partial<Summary> => ({
  action: pickText(body, ...actionPaths),
  repo: null,
  sender: pickText(body, ...senderPaths),
  number: pickNumber(body, ...numberPaths),
  title: pickText(body, ...titlePickers),
  url: pickUrl(body, ...urlPaths),
});

// biome-ignore lint/suspicious/noControlCharactersInRegex: it removes control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g;
const NOT_PLAIN_ASCII = /[^\u0020-\u007e]/;

export function sanitizeText(text: string, maxLength: number): string {
  const truncated = text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
  // Nearly every text is plain ASCII, and one test costs less than two replacements.
  return NOT_PLAIN_ASCII.test(truncated)
    ? truncated.toWellFormed().replace(CONTROL, " ")
    : truncated;
}

const textOrNull = (text: string | null | undefined, maxLength: number): string | null =>
  text === null || text === undefined || text === "" ? null : sanitizeText(text, maxLength);

/** Truncates texts, and removes control characters. An empty text becomes null. */
export const sanitizeSummary = (summary: Partial<Summary>): Summary => ({
  action: textOrNull(summary.action, 100),
  repo: textOrNull(summary.repo, 300),
  sender: textOrNull(summary.sender, 100),
  number: Number.isSafeInteger(summary.number) ? (summary.number as number) : null,
  title: textOrNull(summary.title, 300),
  url: textOrNull(summary.url, 1_000),
  check_result: summary.check_result ? sanitizeCheckResult(summary.check_result) : null,
});

const sanitizeCheckResult = (result: CheckResult): CheckResult => ({
  conclusion: textOrNull(result.conclusion, 100),
  head_branch: textOrNull(result.head_branch, 300),
  head_sha: textOrNull(result.head_sha, 100),
});
