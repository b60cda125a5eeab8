/** The plans of groups of triggers, each as soon as its filters are evaluated. */

import { mergePlans, type PausablePlan } from "./merge-plans.ts";
import type { TriggerKey } from "./model.ts";

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
