/** The last line of an output that is not empty, as plain text. Its memory is bounded. */
import { stripVTControlCharacters } from "node:util";
import { truncate } from "../../../lib/truncate.ts";

/** The maximum length of a note in the hub. */
export const NOTE_LENGTH = 1_000;
/** Enough for a line of that length with escape sequences. */
const KEPT = 16 * 1024;

export interface LastLine {
  push(chunk: string): void;
  /** Undefined if all lines are empty. */
  read(): string | undefined;
}

export function createLastLine(): LastLine {
  let unfinished = "";
  let last = "";
  return {
    push(chunk) {
      // A carriage return overwrites the line, as in progress bars.
      const lines = (unfinished + chunk).split(/[\r\n]/);
      unfinished = (lines.pop() ?? "").slice(0, KEPT);
      last = lines.map((line) => line.slice(0, KEPT)).findLast(isVisible) ?? last;
    },
    read() {
      const line = isVisible(unfinished) ? unfinished : last;
      return line === "" ? undefined : truncate(plainText(line), NOTE_LENGTH);
    },
  };
}

const isVisible = (line: string): boolean => plainText(line) !== "";

/** One line without escape sequences, control characters and lone surrogates. */
export const plainText = (text: string): string =>
  stripVTControlCharacters(text)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .toWellFormed()
    .trim();
