/**
 * What is written of one run under way. Everything goes through here, in order: once `write` is
 * back, it survives a crash. After the end nothing more is written, whoever still has something to say.
 */
import type { ClaimedRun, RunError, RunProgress, Step } from "../store/run-store.ts";
import { CannotBeSaved, type SaveProgress } from "./progress-commit.ts";
import { Failure, Over, type StepRecord, stopped } from "./step-records.ts";

export interface LedgerOptions {
  claimed: ClaimedRun;
  save: SaveProgress;
  now: () => number;
  onStep: ((step: Step) => void) | undefined;
}

export interface Ledger {
  /** What was recorded of a step before the run was taken, attempt by attempt. */
  earlier(item: string, node: string): readonly Step[];
  /** Throws `Over` where the run is no longer in our hands. */
  write(steps: readonly StepRecord[]): Promise<void>;
  /** The last word. Steps that are still open then will not be finished. */
  close(
    steps: readonly StepRecord[],
    next: NonNullable<RunProgress["next"]>,
  ): Promise<"saved" | "lost">;
}

const MOST_STEPS = 100_000;

export function createLedger({ claimed, save, now, onStep }: LedgerOptions): Ledger {
  const { run } = claimed;
  const known = Map.groupBy(claimed.steps, ({ item, node_id }) => `${item}\n${node_id}`);
  const open = new Map<string, StepRecord>();
  let nth = claimed.steps.reduce((most, step) => Math.max(most, step.nth), 0);
  let closed = false;

  const note = (step: StepRecord) => {
    const key = JSON.stringify([step.item, step.node_id, step.attempt]);
    if (step.status === "running" || step.status === "waiting") open.set(key, step);
    else open.delete(key);
  };
  for (const step of claimed.steps) note(step);

  const put = async (steps: readonly StepRecord[], next?: RunProgress["next"]) => {
    // A step keeps the number under which it was first written.
    const numbered = steps.map((step): Step => ({ ...step, nth: ++nth }));
    const progress = { run: run.id, claim: run.claims, steps: numbered, now: now() };
    const outcome = await save(next ? { ...progress, next } : progress);
    if (outcome === "lost") closed = true;
    else if (onStep) for (const step of numbered) onStep(step);
    return outcome;
  };

  /** What is recorded instead of steps that cannot be, and why: nothing that could be in the way. */
  const withoutValues = (steps: readonly StepRecord[], { message }: CannotBeSaved) => {
    const ended = steps.filter(({ status }) => status !== "running" && status !== "skipped");
    const error = (node_id: string | undefined): RunError => ({
      code: "cannot_be_saved",
      message: `What the step came to cannot be saved: ${message}`,
      ...(node_id !== undefined && { node_id }),
    });
    return {
      error: error(ended.length === 1 ? ended[0]?.node_id : undefined),
      steps: steps.map((step) => {
        if (step.status === "skipped") return step;
        const bare = { ...stopped(step, now()), port: null, input: null, log: [] };
        return step.status === "running" ? bare : { ...bare, error: error(step.node_id) };
      }),
    };
  };

  return {
    earlier: (item, node) => known.get(`${item}\n${node}`) ?? [],
    async write(steps) {
      if (closed) throw new Over();
      for (const step of steps) note(step);
      // Each is written twice: when it begins, and when it ends.
      if (nth + steps.length > 2 * MOST_STEPS)
        throw new Failure({
          code: "too_many_steps",
          message: `A run may take at most ${MOST_STEPS} steps.`,
        });
      const outcome = await put(steps).catch((error: unknown) => {
        if (!(error instanceof CannotBeSaved)) throw error;
        const instead = withoutValues(steps, error);
        throw new Failure(instead.error, instead.steps);
      });
      if (outcome === "lost") throw new Over();
    },
    async close(steps, next) {
      if (closed) return "lost";
      closed = true;
      for (const step of steps) note(step);
      const isEnd = next.status !== "waiting" && next.status !== "queued";
      const left = isEnd ? [...open.values()].map((step) => stopped(step, now(), next.status)) : [];
      return put([...steps, ...left], next).catch((error: unknown) => {
        if (!(error instanceof CannotBeSaved)) throw error;
        const instead = withoutValues([...open.values(), ...steps], error);
        const { status } = next;
        return put(
          instead.steps,
          status === "cancelled" ? { status } : { status: "failed", error: instead.error },
        );
      });
    },
  };
}
