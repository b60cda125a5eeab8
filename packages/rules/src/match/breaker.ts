/** The messages of the breaker, which stops flows that trigger each other or themselves in a loop. */
import type { Reason } from "./match-trigger.ts";

/** The limit at which the breaker stopped a trigger. */
export interface Trip {
  /**
   * `chain`: the number of runs that triggered each other. `loops`: how often per minute the trigger
   * may fire on events that its own flow caused.
   */
  limit: "chain" | "loops";
  most: number;
}

/** For the verdict on the event. */
export const breakerReason = (trip: Trip): Reason => ({
  on: "breaker",
  holds: false,
  message: `stopped by the breaker: ${tripMessage(trip)}`,
});

/** States the cause and the fix. */
export const tripMessage = ({ limit, most }: Trip): string =>
  limit === "chain"
    ? `more than ${most} runs triggered each other. Break the cycle, or raise SIGNALBOX_MAX_CHAIN.`
    : `it ${most === 0 ? "may not fire on its own flow's events" : `fired on its own flow's events more than ${most} times a minute`}. ` +
      "Exclude these events with its params or its filter, or raise SIGNALBOX_MAX_LOOPS.";
