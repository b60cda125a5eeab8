/** Runs the command for each matching event, with several commands in parallel. */
import { homedir } from "node:os";
import { join } from "node:path";
import { SettingsError } from "@signalbox/rules/settings.ts";
import { truncate } from "@signalbox/rules/truncate.ts";
import { CommandFailed, print } from "../command.ts";
import { createCandidates } from "./candidates.ts";
import { matchesConditions } from "./conditions.ts";
import { labelOf } from "./event-environment.ts";
import type { ExecHub, RetryPolicy } from "./exec-hub.ts";
import type { ExecOptions } from "./exec-options.ts";
import type { ExecReport } from "./exec-report.ts";
import { createFinishedEvents, type FinishedEvents } from "./finished-events.ts";
import { plainText } from "./last-line.ts";
import { CommandNotStarted } from "./run-command.ts";
import { createStopSignals, type StopSignals } from "./stop-signals.ts";
import { createWorker, markFinished } from "./work-event.ts";

export interface Execution {
  options: ExecOptions;
  hub: ExecHub;
  /** Returns the address of the hub, which can change when the hub restarts. */
  hubUrl: () => string;
  report: ExecReport;
}

const FOREVER = Number.POSITIVE_INFINITY;
/**
 * How long a process that stops or runs once retries the requests after a command. It can then exit
 * safely, because finished events are recorded and claims expire.
 */
const SETTLE_MS = 30_000;
/** The list of events is read again after this time, or after the lease if the lease is shorter. */
const MAX_RELOAD_MS = 30_000;
/**
 * Added to the delay of a retry, because clocks and timers are not exact. An event that cannot be claimed
 * yet would wait for the next reload of the list.
 */
const RETRY_MARGIN_MS = 200;
/** The maximum number of cached ids of events that do not match the conditions. */
const MAX_MISMATCHES = 100_000;
const NOTHING_PENDING = "No pending event to work on.";

/** Returns the number of events whose command failed. */
export async function runExec(execution: Execution): Promise<number> {
  const { options, hub, hubUrl, report } = execution;
  const { once, isDryRun } = options;
  let runningCount = 0;
  const stop = createStopSignals(() => {
    if (runningCount > 0)
      report.info(
        "Stopping when the running commands have ended. A second Ctrl+C terminates them.",
      );
  });
  const isOneShot = once || isDryRun;
  const policy: RetryPolicy = {
    signal: stop.stopping,
    retryForMs: () => (isOneShot ? 0 : FOREVER),
  };
  const matches = createMatcher(execution, policy);
  try {
    if (isDryRun) return await listMatching(execution, matches, policy);
    const finished = createFinishedEvents(stateFolder());
    checkWritable(finished);
    await hub.checkAccess(policy);
    for (const id of await markFinished(hub, finished, policy))
      report.info(`Marked event ${id} as processed: an earlier command had finished it.`);
    const work = createWorker({
      ...options,
      hub,
      hubUrl,
      finished,
      report,
      env: process.env,
      stopping: stop.stopping,
      terminating: stop.terminating,
      retryForMs: {
        before: policy.retryForMs,
        after: () => (isOneShot || stop.stopping.aborted ? SETTLE_MS : FOREVER),
      },
    });
    return await workInParallel(execution, stop, policy, async (id) => {
      if (!(await matches(id))) return undefined;
      runningCount += 1;
      try {
        return await work(id);
      } finally {
        runningCount -= 1;
      }
    });
  } catch (error) {
    if (stop.isAbort(error)) return 0;
    throw error;
  } finally {
    stop.dispose();
  }
}

async function workInParallel(
  { options, hub, hubUrl, report }: Execution,
  stop: StopSignals,
  policy: RetryPolicy,
  work: (id: string) => ReturnType<ReturnType<typeof createWorker>>,
): Promise<number> {
  const { once, concurrency } = options;
  const candidates = createCandidates({
    list: () => hub.list(policy),
    once,
    signal: stop.stopping,
    reloadMs: Math.min(options.leaseS * 1_000, MAX_RELOAD_MS),
  });
  const ids = candidates.ids();
  let failures = 0;
  let resultCount = 0;
  const workSequentially = async () => {
    for (let next = await ids.next(); !next.done; next = await ids.next()) {
      const id = next.value;
      const result = await work(id);
      if (result) resultCount += 1;
      if (result?.kind !== "retry" && result?.kind !== "given up") continue;
      failures += 1;
      if (result.kind === "retry" && !once)
        setTimeout(candidates.add, result.delayS * 1_000 + RETRY_MARGIN_MS, id).unref();
    }
  };
  const tasks = Array.from({ length: concurrency }, workSequentially);
  if (!once) {
    report.info(`Waiting for events of ${hubUrl()}. Ctrl+C stops.`);
    const { stopping: signal } = stop;
    tasks.push(hub.follow({ onOpen: candidates.reload, onEvent: candidates.add, signal }));
  }
  // If one task fails, the other tasks start no further command, but their running commands can end.
  await Promise.all(tasks.map((task) => task.catch((error) => stop.fail(toCommandFailed(error)))));
  // Clears the timer of the next reload, which would keep the process alive.
  await ids.return(undefined);
  stop.throwFirstError();
  if (once && resultCount === 0 && !stop.stopping.aborted) report.info(NOTHING_PENDING);
  return failures;
}

const toCommandFailed = (error: unknown) =>
  error instanceof CommandNotStarted ? new CommandFailed(error.message, { cause: error }) : error;

/** Returns a function that checks whether the payload of an event matches the conditions. */
function createMatcher({ hub, options: { conditions } }: Execution, policy: RetryPolicy) {
  const mismatches = new Set<string>();
  return async (id: string): Promise<boolean> => {
    if (conditions.length === 0) return true;
    if (mismatches.has(id)) return false;
    const event = await hub.read(id, policy);
    if (event && matchesConditions(event.payload, conditions)) return true;
    // A set is in the order of insertion: the oldest id is removed.
    if (mismatches.size === MAX_MISMATCHES)
      mismatches.delete(mismatches.values().next().value as string);
    mismatches.add(id);
    return false;
  };
}

async function listMatching(
  { options: { json }, hub, report }: Execution,
  matches: (id: string) => Promise<boolean>,
  policy: RetryPolicy,
): Promise<number> {
  let matchCount = 0;
  for await (const event of hub.list(policy)) {
    if (!(await matches(event.id))) continue;
    matchCount += 1;
    const title = truncate(plainText(event.title ?? ""), 100);
    print(json ? JSON.stringify(event) : `${event.id}  ${labelOf(event)}  ${title}`.trimEnd());
  }
  if (matchCount === 0) report.info(NOTHING_PENDING);
  return 0;
}

/** Throws if finished events cannot be recorded: after a crash, their commands would run again. */
function checkWritable(finished: FinishedEvents): void {
  try {
    finished.checkWritable();
  } catch (error) {
    throw new SettingsError(
      `Cannot write to the folder of finished events (${(error as Error).message}). Set SIGNALBOX_EXEC_STATE to a folder that you can write to.`,
      { cause: error },
    );
  }
}

const stateFolder = (): string =>
  process.env.SIGNALBOX_EXEC_STATE || join(homedir(), ".signalbox", "exec");
