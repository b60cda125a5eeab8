/**
 * Records the parts of a step, each as a step of its own. A part that is done is never repeated: not
 * by a later attempt at the node, not after a crash, and not by `retryRun`.
 */
import { partItem } from "@signalbox/rules/flows/step-part.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { type MaybeLarge, parseIfLarge } from "@signalbox/rules/large-json.ts";
import type { Mask } from "../lib/mask.ts";
import type { RunError, WrittenStep } from "../store/run-store.ts";
import type { Execution, FrameContext } from "./execution.ts";
import { maskValue } from "./mask-value.ts";
import type { RunBudget } from "./run-budget.ts";
import { toRunError } from "./run-error.ts";
import {
  countAttempts,
  done,
  ExecutionAborted,
  failed,
  RunFailed,
  running,
  type StepKey,
  type StepRecord,
  stopped,
} from "./step-records.ts";

export interface Parts {
  record(options: RecordOptions): Promise<Json>;
  /** Ends the attempt. Parts that are still open fail; their records are not written yet. */
  endAttempt(error: RunError | undefined): StepRecord[];
}

interface RecordOptions {
  part: string;
  input: Json;
  work: () => Promise<Json>;
  mask: Mask;
  /** Aborted when the attempt ends. */
  signal: AbortSignal;
}

type PartRecord = Pick<WrittenStep, "status" | "attempt" | "output" | "omitted">;

/** The parts of one step. They are kept from one attempt to the next. */
export function createParts(
  { stepLog, timers, budget, loadOutput }: Execution,
  { frame, signal: run }: FrameContext,
  node_id: string,
): Parts {
  const records = new Map<string, PartRecord[]>();
  const open = new Map<string, StepRecord>();

  const recordsOf = (item: string): PartRecord[] => {
    const known = records.get(item) ?? [...stepLog.recorded(item, node_id)];
    records.set(item, known);
    return known;
  };
  /** Throws if the attempt has ended meanwhile: then another attempt may have begun the same part. */
  const assertOpen = (started: StepRecord, signal: AbortSignal): void => {
    if (run.aborted) throw new ExecutionAborted();
    if (open.get(started.item) === started) return;
    signal.throwIfAborted();
    throw new Error("The attempt at this step has ended.");
  };
  const end = async (started: StepRecord, ended: StepRecord): Promise<void> => {
    await stepLog.write([ended]);
    recordsOf(ended.item).push(ended);
    if (open.get(ended.item) === started) open.delete(ended.item);
  };

  return {
    async record({ part, input, work, mask, signal }) {
      const item = partItem(frame.iteration, part);
      const known = recordsOf(item);
      const recorded = known.findLast(({ status }) => status === "done");
      if (recorded) {
        const { omitted, attempt } = recorded;
        const output = omitted ? await loadOutput({ node_id, item, attempt }) : recorded.output;
        return parseIfLarge(output as MaybeLarge);
      }
      signal.throwIfAborted();
      if (open.has(item)) throw new Error(`The part ${part} of this step is already running.`);

      const attempt = countAttempts(known).next;
      const key: StepKey = { node_id, item, attempt, started_at: timers.now() };
      const started = running(key, masked(mask, input, "input", budget));
      open.set(item, started);
      await stepLog.write([started]);
      assertOpen(started, signal);
      const { input: seen } = started;
      const fail = async (error: unknown): Promise<never> => {
        assertOpen(started, signal);
        const fields = { input: seen, error: mask.error(toRunError(error, node_id)), log: [] };
        await end(started, failed(key, { ...fields, retryAt: undefined }, timers.now()));
        throw error;
      };
      const perform = async () => masked(mask, await work(), "output", budget);
      const output = await perform().catch(fail);
      assertOpen(started, signal);
      await end(started, done(key, { port: "", input: seen, output }, timers.now())).catch(
        // The work has succeeded: an error of the store must not make a later attempt repeat it.
        (error: unknown) => {
          if (error instanceof RunFailed) return fail(error);
          throw new ExecutionAborted();
        },
      );
      return parseIfLarge(output);
    },

    endAttempt(error) {
      const left = [...open.values()].map((started) => ({
        ...stopped(started, timers.now()),
        ...(error && { error }),
      }));
      for (const ended of left) recordsOf(ended.item).push(ended);
      open.clear();
      return left;
    },
  };
}

/** A value that cannot be recorded fails the step, without retries. */
function masked(mask: Mask, value: Json, what: "input" | "output", budget: RunBudget): MaybeLarge {
  const result = maskValue(mask, value, what, budget);
  if ("value" in result) return result.value ?? null; // JavaScript functions may return undefined
  throw new RunFailed(result.error);
}
