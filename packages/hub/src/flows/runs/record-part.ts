/**
 * Records the parts of a step, each with its own step record. A part that is done is never repeated:
 * not by a later attempt at the node, not after a crash, and not by `retryRun`.
 */
import { partItem } from "@signalbox/rules/flows/step-part.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { type MaybeLarge, parseIfLarge } from "@signalbox/rules/large-json.ts";
import type { Mask } from "../../kernel/lib/mask.ts";
import type { Execution, FrameContext } from "./execution.ts";
import type { RunError, WrittenStep } from "./model.ts";
import {
  countAttempts,
  doneStep,
  ExecutionAborted,
  failedStep,
  RunFailed,
  runningStep,
  type StepKey,
  type StepRecord,
  stoppedStep,
  toRunError,
} from "./step-records.ts";
import { maskValue, type RunBudget } from "./step-values.ts";

export interface Parts {
  /** Runs a part and records it; see `NodeContext.record`. */
  record(options: RecordOptions): Promise<Json>;
  /** Ends the attempt. Parts that are still open fail. The caller must write the returned records. */
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

/** Creates the parts of one step, which all its attempts in this process share. */
export function createParts(
  { stepLog, timers, budget, loadOutput }: Execution,
  { frame, signal: frameSignal }: FrameContext,
  node_id: string,
): Parts {
  const records = new Map<string, PartRecord[]>();
  const open = new Map<string, StepRecord>();

  const recordsOf = (item: string): PartRecord[] => {
    const ofPart = records.get(item) ?? [...stepLog.recordsAtClaim(item, node_id)];
    records.set(item, ofPart);
    return ofPart;
  };
  /** Throws if the attempt has ended: another attempt may have begun the same part since. */
  const assertOpen = (started: StepRecord, signal: AbortSignal): void => {
    if (frameSignal.aborted) throw new ExecutionAborted();
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
      const earlier = recordsOf(item);
      const recorded = earlier.findLast(({ status }) => status === "done");
      if (recorded) {
        const { omitted, attempt } = recorded;
        const output = omitted ? await loadOutput({ node_id, item, attempt }) : recorded.output;
        return parseIfLarge(output as MaybeLarge);
      }
      signal.throwIfAborted();
      if (open.has(item)) throw new Error(`The part ${part} of this step is already running.`);

      const attempt = countAttempts(earlier).next;
      const key: StepKey = { node_id, item, attempt, started_at: timers.now() };
      const started = runningStep(key, maskOrFail(mask, input, "input", budget));
      open.set(item, started);
      await stepLog.write([started]);
      assertOpen(started, signal);
      const { input: maskedInput } = started;
      const fail = async (error: unknown): Promise<never> => {
        assertOpen(started, signal);
        const fields = {
          input: maskedInput,
          error: mask.error(toRunError(error, node_id)),
          log: [],
        };
        await end(started, failedStep(key, { ...fields, retryAt: undefined }, timers.now()));
        throw error;
      };
      const perform = async () => maskOrFail(mask, await work(), "output", budget);
      const output = await perform().catch(fail);
      assertOpen(started, signal);
      await end(
        started,
        doneStep(key, { port: "", input: maskedInput, output }, timers.now()),
      ).catch(
        // The work has succeeded: an error of the store must not make a later attempt repeat it.
        (error: unknown) => {
          if (error instanceof RunFailed) return fail(error);
          throw new ExecutionAborted();
        },
      );
      return parseIfLarge(output);
    },

    endAttempt(error) {
      const interrupted = [...open.values()].map((started) => ({
        ...stoppedStep(started, timers.now()),
        ...(error && { error }),
      }));
      for (const ended of interrupted) recordsOf(ended.item).push(ended);
      open.clear();
      return interrupted;
    },
  };
}

/** If the value cannot be recorded, the step fails without retries. */
function maskOrFail(
  mask: Mask,
  value: Json,
  field: "input" | "output",
  budget: RunBudget,
): MaybeLarge {
  const result = maskValue(mask, value, field, budget);
  if ("value" in result) return result.value ?? null; // JavaScript functions may return undefined
  throw new RunFailed(result.error);
}
