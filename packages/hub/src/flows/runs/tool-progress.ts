/**
 * A called tool can report its progress. Each report is added to the log of the step, and is passed to
 * the caller of the run.
 */
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";

export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** The progress of a tool that a node of the run has called. */
export interface NodeProgress extends ToolProgress {
  node_id: string;
}

/** The log is limited, because a tool may report progress many times a second. */
const MAX_LINES = 100;
const MAX_MESSAGE_CHARACTERS = 500;

export function createToolProgress(
  maskText: (text: string) => string,
  log: (line: LogLine) => void,
  report: (progress: ToolProgress) => void,
): (progress: ToolProgress) => void {
  let lines = 0;
  return ({ progress, total, message }) => {
    const text =
      message === undefined ? undefined : maskText(message).slice(0, MAX_MESSAGE_CHARACTERS);
    const counts = { progress, ...(total !== undefined && { total }) };
    report(text === undefined ? counts : { ...counts, message: text });
    lines += 1;
    if (lines > MAX_LINES) return;
    const line =
      lines === MAX_LINES
        ? "Further progress is not logged."
        : describeProgress({ ...counts, ...(text !== undefined && { message: text }) });
    log({ level: "info", text: line });
  };
}

/** Such as `3 of 10: reading files`. */
export function describeProgress({ progress, total, message }: ToolProgress): string {
  const count = total === undefined ? String(progress) : `${progress} of ${total}`;
  return message ? `${count}: ${message}` : count;
}
