/** Merges the plans of groups of triggers. */

import { keptVerdicts } from "./kept-verdicts.ts";
import type { EventPlan, TriggerKey } from "./model.ts";

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
