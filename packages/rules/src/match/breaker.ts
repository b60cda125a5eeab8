/** Messages of the circuit breaker, which stops flows that trigger each other or themselves in a loop. */
import type { Reason } from "./match-trigger.ts";

/** The limit that a trigger exceeded when the breaker stopped it. */
export interface Trip {
  /**
   * `chain` limits the number of runs that trigger each other. `loops` limits how often per minute a
   * trigger fires on events that its own flow caused.
   */
  limit: "chain" | "loops";
  max: number;
}

/** The reason in the verdict on an event for which the breaker stopped the trigger. */
export const breakerReason = (trip: Trip): Reason => ({
  on: "breaker",
  holds: false,
  message: `stopped by the breaker: ${tripMessage(trip)}`,
});

/** States the cause and the fix. */
export const tripMessage = ({ limit, max }: Trip): string =>
  limit === "chain"
    ? `more than ${max} runs triggered each other. Break the cycle, or raise SIGNALBOX_MAX_CHAIN.`
    : `the trigger ${max === 0 ? "may not fire on its own flow's events" : `fired on its own flow's events more than ${max} times a minute`}. ` +
      "Exclude these events with its params or its filter, or raise SIGNALBOX_MAX_LOOPS.";
