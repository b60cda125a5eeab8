/**
 * Messages of the circuit breaker, which stops flows that trigger each other or themselves in a loop, and pauses
 * filters that exceed their limits.
 */
import type { Reason } from "./match-trigger.ts";

/** The limit that a trigger exceeded when the breaker stopped it. */
export interface Trip {
  /**
   * `chain` limits the number of runs that trigger each other. `loops` limits how often per minute a
   * trigger fires on events that its own flow caused. `filter` limits the seconds for which a filter is
   * evaluated, and its memory.
   */
  limit: "chain" | "loops" | "filter";
  max: number;
}

/** The reason in the verdict on an event for which the breaker stopped the trigger. */
export const breakerReason = (trip: Trip): Reason => ({
  on: "breaker",
  holds: false,
  message: `stopped by the breaker: ${tripMessage(trip)}`,
});

/** States the cause and the fix. */
export function tripMessage({ limit, max }: Trip): string {
  switch (limit) {
    case "chain":
      return `more than ${max} runs triggered each other. Break the cycle, or raise SIGNALBOX_MAX_CHAIN.`;
    case "loops":
      return (
        `the trigger ${max === 0 ? "may not fire on its own flow's events" : `fired on its own flow's events more than ${max} times a minute`}. ` +
        "Exclude these events with its params or its filter, or raise SIGNALBOX_MAX_LOOPS."
      );
    case "filter":
      return `its filter exceeds the limit of ${max} s, or of memory. Simplify the filter, or exclude events with params, which are compared first.`;
  }
}
