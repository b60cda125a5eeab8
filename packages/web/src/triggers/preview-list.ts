/** The events of a preview in the order that teaches most: matches, then near misses. */
import type { TriggerPreview } from "../api/types.ts";
import { plural } from "../ui/format.ts";

export type Previewed = TriggerPreview["events"][number];

const failedOf = ({ reasons }: Previewed) => reasons.filter(({ holds }) => !holds);

/** Of the right source and type, but a param or the filter did not hold. */
const isNear = (one: Previewed): boolean =>
  !one.matched && failedOf(one).every(({ on }) => on === "param" || on === "filter");

export function sortPreview(events: readonly Previewed[]): {
  matches: Previewed[];
  /** Those that failed by the fewest conditions first; the newest first among equals. */
  near: Previewed[];
} {
  return {
    matches: events.filter(({ matched }) => matched),
    near: events.filter(isNear).toSorted((a, b) => failedOf(a).length - failedOf(b).length),
  };
}

/** `3 of your last 100 events would have matched` */
export const previewSentence = ({ matched, of }: Pick<TriggerPreview, "matched" | "of">): string =>
  of === 0
    ? "There is no event yet to compare with"
    : `${matched} of your last ${plural(of, "event")} would have matched`;
