/** Counts the rejected webhooks and callbacks of this process, by source and reason. */
import type { IngestObservation } from "./ingest-log.ts";

export interface RejectionCount {
  source: string;
  reason: string;
  count: number;
  last_at: number;
  /** The message of the last one. */
  detail: string;
}

export type RejectionCounts = ReturnType<typeof createRejectionCounts>;

/** Senders can invent sources: those that are not `known` are counted together, as an empty source. */
export function createRejectionCounts(known: readonly string[], now: () => number) {
  const sources = new Set(known);
  const counts = new Map<string, RejectionCount>();
  return {
    observe({ source: given, outcome }: Pick<IngestObservation, "source" | "outcome">): void {
      if (outcome.outcome !== "refused") return;
      const source = sources.has(given) ? given : "";
      const { reason, detail } = outcome;
      const key = `${source} ${reason}`;
      const count = (counts.get(key)?.count ?? 0) + 1;
      counts.set(key, { source, reason, count, last_at: now(), detail });
    },
    list: (): RejectionCount[] => [...counts.values()].sort((a, b) => b.last_at - a.last_at),
  };
}
