/**
 * Selects the verdicts on an event that are stored: all matches, all triggers that a breaker stopped, and the
 * nearest misses. `explain` computes the others when a client asks for them.
 */
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { PlannedVerdict } from "./model.ts";

/** The maximum number of stored misses per event, and of characters in their reasons. */
export const MAX_MISSES = 10;
const MAX_CHARACTERS = 2_000;

/** A miss keeps only the conditions that failed. The order of the verdicts does not change. */
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
