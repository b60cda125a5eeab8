import type { IngestObservation } from "./ingest-log.ts";

export interface RejectionCount {
  source: string;
  reason: string;
  count: number;
  last_at: number;
  /** The message of the last rejection. */
  detail: string;
}

export type RejectionCounts = ReturnType<typeof createRejectionCounts>;

/**
 * Counts rejections by source and reason. A client can put any text into the URL as the source, so
 * requests to unknown sources are counted together, with an empty source.
 */
export function createRejectionCounts(knownSources: readonly string[], now: () => number) {
  const sources = new Set(knownSources);
  const counts = new Map<string, RejectionCount>();
  return {
    observe({ source: requested, outcome }: Pick<IngestObservation, "source" | "outcome">): void {
      if (outcome.outcome !== "rejected") return;
      const source = sources.has(requested) ? requested : "";
      const { reason, detail } = outcome;
      const key = `${source} ${reason}`;
      const count = (counts.get(key)?.count ?? 0) + 1;
      counts.set(key, { source, reason, count, last_at: now(), detail });
    },
    list: (): RejectionCount[] => [...counts.values()].sort((a, b) => b.last_at - a.last_at),
  };
}
