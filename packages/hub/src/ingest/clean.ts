/** Makes text from strangers fit for a database and a list: no control characters, bounded. */
import type { Summary } from "../store/store.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what it is for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]+/g;
const NEEDS_CLEANING = /[^\u0020-\u007e]/;

export function cleanText(text: string, most: number): string {
  const short = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  // Nearly every text is plain ASCII, and one test costs less than two rewrites.
  return NEEDS_CLEANING.test(short) ? short.toWellFormed().replace(CONTROL, " ") : short;
}

const textOrNull = (text: string | null | undefined, most: number): string | null =>
  text === null || text === undefined || text === "" ? null : cleanText(text, most);

export const cleanSummary = (summary: Partial<Summary>): Summary => ({
  action: textOrNull(summary.action, 100),
  repo: textOrNull(summary.repo, 300),
  sender: textOrNull(summary.sender, 100),
  number: Number.isSafeInteger(summary.number) ? (summary.number as number) : null,
  title: textOrNull(summary.title, 300),
  url: textOrNull(summary.url, 1_000),
});
