/**
 * Works on one event: claims it, runs the command while renewing the claim, and then marks the event as
 * processed, or releases it. A finished event is recorded before it is marked.
 */
import { backoffMs } from "../../../lib/backoff.ts";
import { CommandFailed } from "../command.ts";
import { type ClaimedEvent, eventEnvironment } from "./event-environment.ts";
import { type ExecHub, isTaken, type Persistence } from "./exec-hub.ts";
import type { FinishedEvents } from "./finished-events.ts";
import { keepClaim } from "./keep-claim.ts";
import { giveUpUnseen, type Outcome, outcomeOf } from "./outcome.ts";
import { CommandNotStarted, runCommand } from "./run-command.ts";

/** What a worker reports about an event. */
export interface Report {
  started(event: ClaimedEvent): {
    output(stream: "stdout" | "stderr", chunk: string): void;
    /** Undefined if an error ended the work. */
    ended(result: WorkResult | undefined): void;
  };
  warn(message: string): void;
}

export type WorkResult =
  | Exclude<Outcome, { kind: "retry" }>
  | { kind: "retry"; reason: string; delayS: number }
  /** The claim was lost, so another worker has the event, or it is processed. */
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
  /** No further command is started. */
  stopping: AbortSignal;
  /** Running commands are terminated. */
  terminating: AbortSignal;
  /** How long requests are repeated: those before the command, and those after it. */
  patienceMs: { before: () => number; after: () => number };
  random?: () => number;
}

const MAX_BACKOFF_MS = 60 * 60 * 1_000;

const NEVER = new AbortController().signal;

/** Returns a function that works on the event with this id; undefined if it cannot be claimed. */
export function createWorker(options: WorkerOptions) {
  const { hub, hubUrl, finished, report, argv, env, leaseS, timeoutS, maxAttempts } = options;
  const { backoffS, stopping, terminating, patienceMs, random = Math.random } = options;
  const claiming: Persistence = {
    signal: stopping,
    isAtomic: true,
    patienceMs: patienceMs.before,
  };
  const settling: Persistence = { signal: NEVER, patienceMs: patienceMs.after };
  const active = new Set<string>();
  const release = (id: string, countAttempt: boolean, delayS = 0) =>
    hub.release(id, { delayS, countAttempt }, settling);

  return async (id: string): Promise<WorkResult | undefined> => {
    // A second claim of the same process would be a renewal.
    if (active.has(id)) return undefined;
    active.add(id);
    try {
      return await work(id);
    } finally {
      active.delete(id);
    }
  };

  async function work(id: string): Promise<WorkResult | undefined> {
    const claim = await hub.claim(id, claiming);
    if (!claim) return undefined;
    const { event } = claim;
    if (stopping.aborted) return await ignoreTaken(release(id, false), { kind: "interrupted" });
    const { output, ended } = report.started(event);
    let result: WorkResult | undefined;
    try {
      result = await settle(event, await attempt(event, claim.json, output));
      return result;
    } finally {
      ended(result);
    }
  }

  async function attempt(
    event: ClaimedEvent,
    json: string,
    onOutput: (stream: "stdout" | "stderr", chunk: string) => void,
  ): Promise<Outcome | Extract<WorkResult, { kind: "lost" | "interrupted" }>> {
    if (event.attempts > maxAttempts) return giveUpUnseen(event.attempts - 1, maxAttempts);
    const lost = new AbortController();
    const stopRenewing = keepClaim({
      renew: (signal) =>
        hub.renew(event.id, { signal, patienceMs: () => Number.POSITIVE_INFINITY }),
      leaseMs: leaseS * 1_000,
      onLost: (error) => lost.abort(error),
    });
    try {
      const ended = await runCommand({
        argv,
        env: eventEnvironment(event, hubUrl(), env),
        input: `${json}\n`,
        timeoutS,
        signal: AbortSignal.any([lost.signal, terminating]),
        onOutput,
      });
      if (lost.signal.aborted) return { kind: "lost", reason: messageOf(lost.signal.reason) };
      // A supervisor may have sent its signal to the command too.
      const isInterrupted = terminating.aborted || (stopping.aborted && ended.signal !== null);
      return isInterrupted
        ? { kind: "interrupted" }
        : outcomeOf(ended, event.attempts, maxAttempts);
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
        return await orLost(
          hub.markProcessed(id, outcome.note, { onlyIfClaimed: true }, settling),
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
      // Also if the claim was lost in the meantime: the work is done.
      const marking = hub.markProcessed(id, outcome.note, { onlyIfClaimed: false }, settling);
      const result = await orLost(marking, outcome);
      finished.remove(id);
      return result;
    } catch (error) {
      throw new CommandFailed(
        `The command has finished event ${id}, but the hub could not be notified: ${messageOf(error)} The next start of \`npx signalbox exec\` marks it as processed.`,
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

async function orLost(request: Promise<void>, result: WorkResult): Promise<WorkResult> {
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
  persistence: Persistence,
): Promise<string[]> {
  const marked: string[] = [];
  for (const { id, note } of finished.read()) {
    // An event of another hub: its note must not be sent to this one.
    const event = await hub.read(id, persistence);
    if (!event) continue;
    if (!event.processed) {
      await hub.markProcessed(id, note, { onlyIfClaimed: false }, persistence);
      marked.push(id);
    }
    finished.remove(id);
  }
  return marked;
}
