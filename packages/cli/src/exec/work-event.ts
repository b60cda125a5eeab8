/**
 * Works on one event: claims it, runs the command while renewing the claim, and then marks the event as
 * processed, or releases it. A finished event is recorded on disk before it is marked.
 */
import { backoffMs } from "@signalbox/rules/backoff.ts";
import { CommandFailed } from "../command.ts";
import { type ClaimedEvent, eventEnvironment } from "./event-environment.ts";
import { type ExecHub, isTaken, type RetryPolicy } from "./exec-hub.ts";
import type { FinishedEvents } from "./finished-events.ts";
import { keepClaim } from "./keep-claim.ts";
import { giveUpWithoutResult, type Outcome, outcomeOf } from "./outcome.ts";
import { CommandNotStarted, runCommand } from "./run-command.ts";

/** Receives the progress of a worker. */
export interface Report {
  startEvent(event: ClaimedEvent): {
    writeOutput(stream: "stdout" | "stderr", chunk: string): void;
    /** `result` is undefined if an error ended the work. */
    endEvent(result: WorkResult | undefined): void;
  };
  warn(message: string): void;
}

export type WorkResult =
  | Exclude<Outcome, { kind: "retry" }>
  | { kind: "retry"; reason: string; delayS: number }
  /** The claim was lost: another worker has claimed the event, or it is processed. */
  | { kind: "lost"; reason: string }
  /** The command was stopped together with this process. */
  | { kind: "interrupted" };

export interface WorkerOptions {
  hub: ExecHub;
  hubUrl(): string;
  finished: Pick<FinishedEvents, "add" | "remove">;
  report: Report;
  argv: readonly string[];
  env: Record<string, string | undefined>;
  leaseS: number;
  timeoutS: number;
  maxAttempts: number;
  backoffS: number;
  /** After this signal, no further command is started. */
  stopping: AbortSignal;
  /** This signal terminates the running commands. */
  terminating: AbortSignal;
  /** How long failed requests are retried, `before` and `after` the command. */
  retryForMs: { before: () => number; after: () => number };
  random?: () => number;
}

const MAX_BACKOFF_MS = 60 * 60 * 1_000;

const NEVER_ABORTED = new AbortController().signal;

/** Returns a function that works on an event. Its result is undefined if the event cannot be claimed. */
export function createWorker(options: WorkerOptions) {
  const { hub, hubUrl, finished, report, argv, env, leaseS, timeoutS, maxAttempts } = options;
  const { backoffS, stopping, terminating, retryForMs, random = Math.random } = options;
  const claimPolicy: RetryPolicy = {
    signal: stopping,
    finishesRequest: true,
    retryForMs: retryForMs.before,
  };
  const settlePolicy: RetryPolicy = { signal: NEVER_ABORTED, retryForMs: retryForMs.after };
  const activeIds = new Set<string>();
  const release = (id: string, countAttempt: boolean, delayS = 0) =>
    hub.release(id, { delayS, countAttempt }, settlePolicy);

  return async (id: string): Promise<WorkResult | undefined> => {
    // The hub would accept a second claim of this process as a renewal, and two commands would run.
    if (activeIds.has(id)) return undefined;
    activeIds.add(id);
    try {
      return await work(id);
    } finally {
      activeIds.delete(id);
    }
  };

  async function work(id: string): Promise<WorkResult | undefined> {
    const claim = await hub.claim(id, claimPolicy);
    if (!claim) return undefined;
    const { event } = claim;
    if (stopping.aborted) return await ignoreTaken(release(id, false), { kind: "interrupted" });
    const { writeOutput, endEvent } = report.startEvent(event);
    let result: WorkResult | undefined;
    try {
      result = await settle(event, await attempt(event, claim.json, writeOutput));
      return result;
    } finally {
      endEvent(result);
    }
  }

  async function attempt(
    event: ClaimedEvent,
    json: string,
    onOutput: (stream: "stdout" | "stderr", chunk: string) => void,
  ): Promise<Outcome | Extract<WorkResult, { kind: "lost" | "interrupted" }>> {
    if (event.attempts > maxAttempts) return giveUpWithoutResult(event.attempts - 1, maxAttempts);
    const lost = new AbortController();
    const stopRenewing = keepClaim({
      renew: (signal) =>
        hub.renew(event.id, { signal, retryForMs: () => Number.POSITIVE_INFINITY }),
      leaseMs: leaseS * 1_000,
      onLost: (error) => lost.abort(error),
    });
    try {
      const exit = await runCommand({
        argv,
        env: eventEnvironment(event, hubUrl(), env),
        input: `${json}\n`,
        timeoutS,
        signal: AbortSignal.any([lost.signal, terminating]),
        onOutput,
      });
      if (lost.signal.aborted) return { kind: "lost", reason: messageOf(lost.signal.reason) };
      // A process manager may have sent its signal to the command too. Then the command has not failed.
      const isInterrupted = terminating.aborted || (stopping.aborted && exit.signal !== null);
      return isInterrupted ? { kind: "interrupted" } : outcomeOf(exit, event.attempts, maxAttempts);
    } catch (error) {
      if (error instanceof CommandNotStarted)
        await ignoreTaken(release(event.id, false), undefined);
      throw error;
    } finally {
      stopRenewing();
    }
  }

  async function settle(
    { id, attempts }: ClaimedEvent,
    outcome: Outcome | Extract<WorkResult, { kind: "lost" | "interrupted" }>,
  ): Promise<WorkResult> {
    switch (outcome.kind) {
      case "lost":
        return outcome;
      case "interrupted":
        return await ignoreTaken(release(id, false), outcome);
      case "retry": {
        const wait = { firstMs: backoffS * 1_000, maxMs: MAX_BACKOFF_MS, random };
        const delayS = Math.ceil(backoffMs(attempts, wait) / 1_000);
        // If the response to the release was lost, the hub reports the repeated request as a conflict.
        return await ignoreTaken(release(id, true, delayS), { ...outcome, delayS });
      }
      case "given up":
        return await resultUnlessTaken(
          hub.markProcessed(id, outcome.note, { onlyIfClaimed: true }, settlePolicy),
          outcome,
        );
      case "processed":
        return await finish(id, outcome);
    }
  }

  async function finish(
    id: string,
    outcome: Extract<Outcome, { kind: "processed" }>,
  ): Promise<WorkResult> {
    record(id, outcome.note);
    try {
      // The work is done, so the event is marked even if the claim was lost in the meantime.
      const marking = hub.markProcessed(id, outcome.note, { onlyIfClaimed: false }, settlePolicy);
      const result = await resultUnlessTaken(marking, outcome);
      finished.remove(id);
      return result;
    } catch (error) {
      throw new CommandFailed(
        `The command has finished event ${id}, but the event could not be marked as processed: ${messageOf(error)} The next start of \`npx @signalbox/cli exec\` marks it as processed.`,
        { cause: error },
      );
    }
  }

  function record(id: string, note: string): void {
    try {
      finished.add({ id, note });
    } catch (error) {
      report.warn(`Cannot record that event ${id} is finished: ${messageOf(error)}`);
    }
  }
}

/** Returns `result`, or a result of the kind "lost" if the hub reports that the event is taken. */
async function resultUnlessTaken(request: Promise<void>, result: WorkResult): Promise<WorkResult> {
  try {
    await request;
    return result;
  } catch (error) {
    if (isTaken(error)) return { kind: "lost", reason: error.message };
    throw error;
  }
}

async function ignoreTaken<Result>(request: Promise<void>, result: Result): Promise<Result> {
  await request.catch((error: unknown) => {
    if (!isTaken(error)) throw error;
  });
  return result;
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** Marks the events that an earlier process finished, but could not mark. Returns their ids. */
export async function markFinished(
  hub: ExecHub,
  finished: Pick<FinishedEvents, "read" | "remove">,
  policy: RetryPolicy,
): Promise<string[]> {
  const marked: string[] = [];
  for (const { id, note } of finished.read()) {
    // If this hub does not have the event, the note may belong to another hub, and is not sent.
    const event = await hub.read(id, policy);
    if (!event) continue;
    if (!event.processed) {
      await hub.markProcessed(id, note, { onlyIfClaimed: false }, policy);
      marked.push(id);
    }
    finished.remove(id);
  }
  return marked;
}
