/** The messages of the breaker, which stops flows that trigger each other or themselves in a loop. */
import type { Reason } from "./match-trigger.ts";

/** The limit at which the breaker stopped a trigger. */
export interface Trip {
  /**
   * `chain`: the number of runs that triggered each other. `loops`: how often per minute the trigger
   * may fire on events that its own flow caused.
   */
  limit: "chain" | "loops";
  max: number;
}

/** For the verdict on the event. */
export const breakerReason = (trip: Trip): Reason => ({
  on: "breaker",
  holds: false,
  message: `stopped by the breaker: ${tripMessage(trip)}`,
});

/** States the cause and the fix. */
export const tripMessage = ({ limit, max }: Trip): string =>
  limit === "chain"
    ? `more than ${max} runs triggered each other. Break the cycle, or raise SIGNALBOX_MAX_CHAIN.`
    : `it ${max === 0 ? "may not fire on its own flow's events" : `fired on its own flow's events more than ${max} times a minute`}. ` +
      "Exclude these events with its params or its filter, or raise SIGNALBOX_MAX_LOOPS.";
