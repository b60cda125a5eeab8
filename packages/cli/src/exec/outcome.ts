/** Decides whether an event is processed, retried or given up after its command has ended. */
import { truncate } from "@signalbox/rules/truncate.ts";
import { NOTE_LENGTH } from "./last-line.ts";

export interface CommandExit {
  code: number | null;
  signal: string | null;
  /** Set if the command exceeded its time limit: the limit in seconds. */
  timeoutS?: number | undefined;
  /** The last non-empty line of stdout. */
  stdout?: string | undefined;
  /** The last non-empty line of stderr. */
  stderr?: string | undefined;
}

export type Outcome =
  | { kind: "processed"; note: string }
  | { kind: "retry"; reason: string }
  | { kind: "given up"; note: string };

export function outcomeOf(exit: CommandExit, attempt: number, maxAttempts: number): Outcome {
  const isSuccess = exit.code === 0 && exit.timeoutS === undefined;
  if (isSuccess) return { kind: "processed", note: exit.stdout ?? exit.stderr ?? "" };
  const reason = reasonOf(exit);
  return attempt < maxAttempts ? { kind: "retry", reason } : giveUp(attempt, reason);
}

/**
 * Gives up an event whose earlier attempts reported no result: their workers were killed, lost the claim,
 * or had a higher limit of attempts.
 */
export const giveUpWithoutResult = (attempts: number, maxAttempts: number): Outcome =>
  giveUp(attempts, `no attempt reported a result; the limit is ${maxAttempts}`);

const giveUp = (attempts: number, reason: string): Outcome => ({
  kind: "given up",
  note: truncate(
    `Gave up after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${reason}`,
    NOTE_LENGTH,
  ),
});

function reasonOf({ code, signal, timeoutS, stdout, stderr }: CommandExit): string {
  const cause =
    timeoutS !== undefined
      ? `exceeded the time limit of ${timeoutS} s`
      : signal !== null
        ? `ended by ${signal}`
        : `exit code ${code}`;
  const line = stderr ?? stdout;
  return truncate(line === undefined ? cause : `${cause}: ${line}`, NOTE_LENGTH);
}
