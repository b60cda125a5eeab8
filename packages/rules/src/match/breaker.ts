/**
 * Why a trigger that fits is stopped all the same: flows that set each other off, or themselves,
 * would go round for ever. In words, for the verdict on the event and for the warning on the flow.
 */
import type { Reason } from "./match-trigger.ts";

/** A limit that a trigger has run into. */
export interface Trip {
  /** How long a chain of runs may be; or how often a minute a trigger fires on what its own flow caused. */
  limit: "chain" | "loops";
  most: number;
}

export const breakerReason = (trip: Trip): Reason => ({
  on: "breaker",
  holds: false,
  message: `stopped by the breaker: ${tripInWords(trip)}`,
});

/** What happened, and what to do about it. */
export const tripInWords = ({ limit, most }: Trip): string =>
  limit === "chain"
    ? `more than ${most} runs set each other off. Break the circle, or raise SIGNALBOX_MAX_CHAIN.`
    : `it ${most === 0 ? "may not fire on its own flow's events" : `fired on its own flow's events more than ${most} times a minute`}. ` +
      "Let its params or its filter leave them out, or raise SIGNALBOX_MAX_LOOPS.";
