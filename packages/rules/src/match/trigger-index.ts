/**
 * Of many triggers, those that an event may concern. An event looks up four keys, however many
 * triggers there are; what comes back still has to be matched.
 */
import type { MatchEvent, MatchTrigger } from "./match-trigger.ts";

export interface TriggerIndex<Trigger extends MatchTrigger> {
  readonly size: number;
  /** In the order in which they were given. */
  candidates(event: Pick<MatchEvent, "tenant" | "source" | "sourceId" | "type">): Trigger[];
}

export function indexTriggers<Trigger extends MatchTrigger>(
  triggers: Iterable<Trigger>,
): TriggerIndex<Trigger> {
  const places = new Map<string, { trigger: Trigger; at: number }[]>();
  let size = 0;
  for (const trigger of triggers) {
    if (!trigger.isActive) continue;
    const key = keyOf(trigger.tenant, trigger.source, trigger.type?.trim() ? trigger.type : ANY);
    const entry = { trigger, at: size++ };
    const others = places.get(key);
    if (others) others.push(entry);
    else places.set(key, [entry]);
  }
  return {
    size,
    candidates({ tenant, source, sourceId, type }) {
      const sources = sourceId === undefined || sourceId === source ? [source] : [source, sourceId];
      return sources
        .flatMap((one) => [keyOf(tenant, one, type), keyOf(tenant, one, ANY)])
        .flatMap((key) => places.get(key) ?? [])
        .sort((a, b) => a.at - b.at)
        .map(({ trigger }) => trigger);
    },
  };
}

const ANY = null;

/** As JSON, so that no name can be mistaken for two. */
const keyOf = (tenant: string, source: string, type: string | null): string =>
  JSON.stringify([tenant, source, type]);
