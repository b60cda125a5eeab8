/** Runs the command for each event that matches, several in parallel. */
import { homedir } from "node:os";
import { join } from "node:path";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import { truncate } from "../../../lib/truncate.ts";
import { SettingsError } from "../../settings.ts";
import { CommandFailed, print } from "../command.ts";
import { createCandidates } from "./candidates.ts";
import { matchesConditions } from "./conditions.ts";
import { labelOf } from "./event-environment.ts";
import type { ExecHub, Persistence } from "./exec-hub.ts";
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
  /** The address of the hub. */
  hubUrl: () => string;
  report: ExecReport;
}

const FOREVER = Number.POSITIVE_INFINITY;
/** How long a stopping process repeats requests. Finished events are recorded, and claims expire. */
const SETTLE_MS = 30_000;
/** A shorter lease is meant to recover faster from a crash. */
const MAX_RELOAD_MS = 30_000;
/** Clocks and timers are not exact: a retry that is too early would wait for the next reload. */
const RETRY_MARGIN_MS = 200;
/** The number of events that are known not to match. */
const MAX_MISMATCHES = 100_000;
const NOTHING_PENDING = "No pending event to work on.";

/** Returns the number of events whose command failed. */
export async function runExec(execution: Execution): Promise<number> {
  const { options, hub, hubUrl, report } = execution;
  const { once, isDryRun } = options;
  let working = 0;
  const stop = createStopSignals(() => {
    if (working > 0)
      report.info("Stopping when the running commands have ended. Ctrl+C again terminates them.");
  });
  const isShort = once || isDryRun;
  const persistence: Persistence = {
    signal: stop.stopping,
    patienceMs: () => (isShort ? 0 : FOREVER),
  };
  const matches = createMatcher(execution, persistence);
  try {
    if (isDryRun) return await listMatching(execution, matches, persistence);
    const finished = createFinishedEvents(stateFolder());
    checkWritable(finished);
    await hub.checkAccess(persistence);
    for (const id of await markFinished(hub, finished, persistence))
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
      patienceMs: {
        before: persistence.patienceMs,
        after: () => (isShort || stop.stopping.aborted ? SETTLE_MS : FOREVER),
      },
    });
    return await workInParallel(execution, stop, persistence, async (id) => {
      if (!(await matches(id))) return undefined;
      working += 1;
      try {
        return await work(id);
      } finally {
        working -= 1;
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
  persistence: Persistence,
  work: (id: string) => ReturnType<ReturnType<typeof createWorker>>,
): Promise<number> {
  const { once, concurrency } = options;
  const candidates = createCandidates({
    list: () => hub.list(persistence),
    once,
    signal: stop.stopping,
    reloadMs: Math.min(options.leaseS * 1_000, MAX_RELOAD_MS),
  });
  const ids = candidates.ids();
  let failures = 0;
  let results = 0;
  const workInTurn = async () => {
    for (let next = await ids.next(); !next.done; next = await ids.next()) {
      const id = next.value;
      const result = await work(id);
      if (result) results += 1;
      if (result?.kind !== "retry" && result?.kind !== "given up") continue;
      failures += 1;
      if (result.kind === "retry" && !once)
        setTimeout(candidates.add, result.delayS * 1_000 + RETRY_MARGIN_MS, id).unref();
    }
  };
  const tasks = Array.from({ length: concurrency }, workInTurn);
  if (!once) {
    report.info(`Waiting for events of ${hubUrl()}. Ctrl+C stops.`);
    const { stopping: signal } = stop;
    tasks.push(hub.follow({ onOpen: candidates.reload, onEvent: candidates.add, signal }));
  }
  // An error of one task stops the others, but their commands can end.
  await Promise.all(tasks.map((task) => task.catch((error) => stop.fail(asFailure(error)))));
  // Clears the timer of the next reload, which would keep the process alive.
  await ids.return(undefined);
  stop.throwError();
  if (once && results === 0 && !stop.stopping.aborted) report.info(NOTHING_PENDING);
  return failures;
}

const asFailure = (error: unknown) =>
  error instanceof CommandNotStarted ? new CommandFailed(error.message, { cause: error }) : error;

/** Whether the payload of an event matches the conditions. */
function createMatcher({ hub, options: { conditions } }: Execution, persistence: Persistence) {
  const mismatches = new BoundedMap<string, true>(MAX_MISMATCHES);
  return async (id: string): Promise<boolean> => {
    if (conditions.length === 0) return true;
    if (mismatches.get(id)) return false;
    const event = await hub.read(id, persistence);
    if (event && matchesConditions(event.payload, conditions)) return true;
    mismatches.set(id, true);
    return false;
  };
}

async function listMatching(
  { options: { json }, hub, report }: Execution,
  matches: (id: string) => Promise<boolean>,
  persistence: Persistence,
): Promise<number> {
  let matching = 0;
  for await (const event of hub.list(persistence)) {
    if (!(await matches(event.id))) continue;
    matching += 1;
    const title = truncate(plainText(event.title ?? ""), 100);
    print(json ? JSON.stringify(event) : `${event.id}  ${labelOf(event)}  ${title}`.trimEnd());
  }
  if (matching === 0) report.info(NOTHING_PENDING);
  return 0;
}

/** Otherwise a command that has finished could run again after a crash. */
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
