/** Writes each line of an output with a prefix, which distinguishes parallel commands. */
export interface PrefixedLines {
  push(chunk: string): void;
  /** Writes an unfinished last line. */
  end(): void;
}

/** A longer line is written in several parts, to limit the memory. */
const MAX_LINE_LENGTH = 64 * 1024;

export function createPrefixedLines(prefix: string, write: (text: string) => void): PrefixedLines {
  let unfinished = "";
  return {
    push(chunk) {
      const lines = (unfinished + chunk).split("\n");
      unfinished = lines.pop() ?? "";
      if (unfinished.length > MAX_LINE_LENGTH) {
        lines.push(unfinished);
        unfinished = "";
      }
      if (lines.length > 0) write(lines.map((line) => `${prefix}${line}\n`).join(""));
    },
    end() {
      if (unfinished !== "") write(`${prefix}${unfinished}\n`);
      unfinished = "";
    },
  };
}
