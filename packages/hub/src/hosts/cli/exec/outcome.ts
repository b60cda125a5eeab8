/** What happens to an event after its command has ended. */
import { truncate } from "../../../lib/truncate.ts";
import { NOTE_LENGTH } from "./last-line.ts";

/** How a command has ended. */
export interface Ended {
  code: number | null;
  signal: string | null;
  /** The time limit that the command exceeded, in seconds. */
  timeoutS?: number | undefined;
  /** The last lines of its output. */
  stdout?: string | undefined;
  stderr?: string | undefined;
}

export type Outcome =
  | { kind: "processed"; note: string }
  | { kind: "retry"; reason: string }
  | { kind: "given up"; note: string };

export function outcomeOf(ended: Ended, attempt: number, maxAttempts: number): Outcome {
  const isSuccess = ended.code === 0 && ended.timeoutS === undefined;
  if (isSuccess) return { kind: "processed", note: ended.stdout ?? ended.stderr ?? "" };
  const reason = reasonOf(ended);
  return attempt < maxAttempts ? { kind: "retry", reason } : giveUp(attempt, reason);
}

/** The earlier attempts left no result: their workers were killed, lost the claim, or had other limits. */
export const giveUpUnseen = (earlier: number, maxAttempts: number): Outcome =>
  giveUp(earlier, `no attempt reported a result; the limit is ${maxAttempts}`);

const giveUp = (attempts: number, reason: string): Outcome => ({
  kind: "given up",
  note: truncate(
    `Gave up after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${reason}`,
    NOTE_LENGTH,
  ),
});

function reasonOf({ code, signal, timeoutS, stdout, stderr }: Ended): string {
  const how =
    timeoutS !== undefined
      ? `exceeded the time limit of ${timeoutS} s`
      : signal !== null
        ? `ended by ${signal}`
        : `exit code ${code}`;
  const line = stderr ?? stdout;
  return truncate(line === undefined ? how : `${how}: ${line}`, NOTE_LENGTH);
}
