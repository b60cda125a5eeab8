/**
 * Prints the results and messages of `signalbox exec` on stderr, and the output of the commands with a
 * prefix before each line.
 */
import { truncate } from "@signalbox/rules/truncate.ts";
import { print } from "../command.ts";
import { dim, green, red, yellow } from "../style.ts";
import { type ClaimedEvent, labelOf } from "./event-environment.ts";
import { createPrefixedLines } from "./prefix-lines.ts";
import type { Report, WorkResult } from "./work-event.ts";

export interface ExecReport extends Report {
  info(message: string): void;
}

export interface ExecReportOptions {
  maxAttempts: number;
  isQuiet: boolean;
  json: boolean;
}

const printError = (line: string) => void process.stderr.write(`${line}\n`);

export function createExecReport({ maxAttempts, isQuiet, json }: ExecReportOptions): ExecReport {
  return {
    info: (message) => printError(dim(message)),
    warn: (message) => printError(`${yellow("!")} ${message}`),
    startEvent(event) {
      const label = labelOf(event);
      const startedAt = performance.now();
      const attempt = event.attempts > 1 ? ` (attempt ${event.attempts} of ${maxAttempts})` : "";
      printError(`${dim("▶")} ${label}${dim(attempt)}`);
      // With --json, stdout contains only the results.
      const targets = { stdout: json ? process.stderr : process.stdout, stderr: process.stderr };
      const prefix = dim(`[${label}] `);
      const lines = {
        stdout: createPrefixedLines(prefix, (text) => void targets.stdout.write(text)),
        stderr: createPrefixedLines(prefix, (text) => void targets.stderr.write(text)),
      };
      return {
        writeOutput(stream, chunk) {
          if (!isQuiet) lines[stream].push(chunk);
        },
        endEvent(result) {
          lines.stdout.end();
          lines.stderr.end();
          if (!result) return;
          const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
          printError(describeResult(label, result, seconds));
          if (json) print(JSON.stringify(toJsonResult(event, result, seconds)));
        },
      };
    },
  };
}

/** The maximum length of a printed note. The hub stores the whole note. */
const MAX_PRINTED_NOTE = 100;

function describeResult(label: string, result: WorkResult, seconds: number): string {
  const time = dim(`(${seconds} s)`);
  switch (result.kind) {
    case "processed":
      return `${green("✓")} ${label}${result.note && `: ${truncate(result.note, MAX_PRINTED_NOTE)}`} ${time}`;
    case "retry":
      return `${yellow("↻")} ${label}: ${result.reason}; next attempt in ${result.delayS} s ${time}`;
    case "given up":
      return `${red("✗")} ${label}: ${result.note} ${time}`;
    case "lost":
      return `${yellow("!")} ${label}: the claim was lost: ${result.reason} ${time}`;
    case "interrupted":
      return `${yellow("!")} ${label}: interrupted; the claim was released ${time}`;
  }
}

const toJsonResult = (event: ClaimedEvent, result: WorkResult, seconds: number) => ({
  event_id: event.id,
  type: event.type,
  repo: event.repo,
  number: event.number,
  attempt: event.attempts,
  outcome: result.kind.replace(" ", "_"),
  ...("note" in result && { note: result.note }),
  ...("reason" in result && { reason: result.reason }),
  ...("delayS" in result && { retry_in_s: result.delayS }),
  seconds,
});
