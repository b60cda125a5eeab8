/** Keeps the last non-empty line of an output, as plain text, in bounded memory. */
import { stripVTControlCharacters } from "node:util";
import { truncate } from "@signalbox/rules/truncate.ts";

/** The maximum length of a note that the hub stores. */
export const NOTE_LENGTH = 1_000;
/** Longer lines are cut. A line can be longer than a note because of escape sequences. */
const MAX_LINE_LENGTH = 16 * 1024;

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
      unfinished = (lines.pop() ?? "").slice(0, MAX_LINE_LENGTH);
      last = lines.map((line) => line.slice(0, MAX_LINE_LENGTH)).findLast(isVisible) ?? last;
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
