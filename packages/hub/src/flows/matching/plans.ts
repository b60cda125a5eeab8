/**
 * The plans of an event. Triggers are planned in groups, each as soon as its filters are evaluated; the plans of
 * groups are merged. Of the verdicts, a plan keeps those that are stored.
 */
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { EventPlan, PlannedVerdict, TriggerKey } from "./model.ts";

/** A plan without a verdict of triggers whose filters are paused. */
export interface PausablePlan extends EventPlan {
  paused?: PausedTriggers;
}

export interface PausedTriggers {
  triggers: readonly TriggerKey[];
  /** The end of the pause. */
  until: number;
}

export const mergePlans = (plans: readonly PausablePlan[]): PausablePlan => {
  const paused = mergePaused(plans.map((plan) => plan.paused));
  return {
    verdicts: keptVerdicts(plans.flatMap(({ verdicts }) => verdicts)),
    runs: plans.flatMap(({ runs }) => runs),
    ...(paused && { paused }),
  };
};

export const mergePaused = (
  all: readonly (PausedTriggers | undefined)[],
): PausedTriggers | undefined => {
  const paused = all.filter((one) => one !== undefined);
  return paused.length === 0
    ? undefined
    : {
        triggers: paused.flatMap(({ triggers }) => triggers),
        until: Math.max(...paused.map(({ until }) => until)),
      };
};

/** The maximum number of stored misses per event, and of characters in their reasons. */
export const MAX_MISSES = 10;
const MAX_CHARACTERS = 2_000;

/**
 * Selects the verdicts on an event that are stored: all matches, all triggers that a breaker stopped, and the
 * nearest misses. `explain` computes the others when a client asks for them. A miss keeps only the conditions
 * that failed. The order of the verdicts does not change.
 */
export function keptVerdicts(
  verdicts: readonly PlannedVerdict[],
  maxMisses = MAX_MISSES,
): PlannedVerdict[] {
  const misses = verdicts
    .filter((verdict) => !isAlwaysKept(verdict))
    .map((verdict) => ({ verdict, failed: verdict.reasons.filter(({ holds }) => !holds) }))
    .sort((a, b) => a.failed.length - b.failed.length)
    .slice(0, maxMisses);
  const kept = new Map<PlannedVerdict, Reason[]>();
  let characters = 0;
  for (const { verdict, failed } of misses) {
    for (const { message } of failed) characters += message.length;
    if (characters > MAX_CHARACTERS) break;
    kept.set(verdict, failed);
  }
  return verdicts.flatMap((verdict) => {
    if (isAlwaysKept(verdict)) return [verdict];
    const reasons = kept.get(verdict);
    return reasons ? [{ ...verdict, reasons }] : [];
  });
}

export const isAlwaysKept = ({ matched, breaker }: PlannedVerdict): boolean =>
  matched || breaker !== undefined;

/** Triggers that are decided together. */
export interface PlannedGroup {
  triggers: readonly TriggerKey[];
  plan: Promise<PausablePlan>;
}

export interface DecidedPlan {
  plan: PausablePlan;
  /** The triggers of the groups that are not decided yet. */
  rest: readonly TriggerKey[];
}

/** Yields at least one plan. If the comparison of a group fails, throws when the others are decided. */
export async function* decidedPlans(groups: readonly PlannedGroup[]): AsyncGenerator<DecidedPlan> {
  const undecided = new Set(groups);
  const decided: PausablePlan[] = groups.length === 0 ? [{ verdicts: [], runs: [] }] : [];
  const failures: unknown[] = [];
  let change = Promise.withResolvers<void>();
  for (const group of groups)
    group.plan
      .then(
        (plan) => {
          undecided.delete(group);
          decided.push(plan);
        },
        (error) => failures.push(error),
      )
      .finally(() => change.resolve());
  while (decided.length > 0 || undecided.size > failures.length) {
    if (decided.length > 0) {
      const plan = mergePlans(decided.splice(0));
      yield { plan, rest: [...undecided].flatMap(({ triggers }) => triggers) };
    } else {
      await change.promise;
      change = Promise.withResolvers();
    }
  }
  if (failures.length > 0) throw failures[0];
}
