/**
 * The circuit breaker for flows that trigger each other or themselves: the messages for the verdict
 * on the event and for the warning on the flow.
 */
import type { Reason } from "./match-trigger.ts";

/** A limit that a trigger has reached. */
export interface Trip {
  /** `chain`: runs that cause each other. `loops`: events per minute that the flow itself caused. */
  limit: "chain" | "loops";
  most: number;
}

export const breakerReason = (trip: Trip): Reason => ({
  on: "breaker",
  holds: false,
  message: `stopped by the breaker: ${tripMessage(trip)}`,
});

/** The cause and the fix. */
export const tripMessage = ({ limit, most }: Trip): string =>
  limit === "chain"
    ? `more than ${most} runs set each other off. Break the circle, or raise SIGNALBOX_MAX_CHAIN.`
    : `it ${most === 0 ? "may not fire on its own flow's events" : `fired on its own flow's events more than ${most} times a minute`}. ` +
      "Let its params or its filter leave them out, or raise SIGNALBOX_MAX_LOOPS.";
