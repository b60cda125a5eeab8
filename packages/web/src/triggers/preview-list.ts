/** Splits the events of a preview into matches and near misses. */
import type { TriggerPreview } from "@signalbox/contract";
import { plural } from "../ui/format.ts";

export type PreviewedEvent = TriggerPreview["events"][number];

const failedReasonsOf = ({ reasons }: PreviewedEvent) => reasons.filter(({ holds }) => !holds);

/** The source and the type match, but a condition or the filter does not. */
const isNearMiss = (each: PreviewedEvent): boolean =>
  !each.matched && failedReasonsOf(each).every(({ on }) => on === "param" || on === "filter");

export function sortPreview(events: readonly PreviewedEvent[]): {
  matches: PreviewedEvent[];
  /** Sorted by the number of failed conditions, then by age: the newest first. */
  nearMisses: PreviewedEvent[];
} {
  return {
    matches: events.filter(({ matched }) => matched),
    nearMisses: events
      .filter(isNearMiss)
      .toSorted((a, b) => failedReasonsOf(a).length - failedReasonsOf(b).length),
  };
}

/** Returns a sentence such as `3 of your last 100 events would have matched`. */
export const previewSentence = ({ matched, of }: Pick<TriggerPreview, "matched" | "of">): string =>
  of === 0
    ? "There are no events to compare with yet"
    : `${matched} of your last ${plural(of, "event")} would have matched`;

/** Describes which events were compared. `name` is the name of their source. */
export function describeBasis({ type, found }: TriggerPreview["basis"], name: string): string {
  if (found === "none") return `No recent event is from ${name}`;
  if (found === "type") return `The newest events from ${name} of type ${type}`;
  const noneOfType = type === null ? "" : `; none of the recent ones has the type ${type}`;
  return `The newest events from ${name}${noneOfType}`;
}
