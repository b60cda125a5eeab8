import type { Observation } from "../../pipeline.ts";
import type { Logger } from "./log.ts";

/**
 * One line for each arrival while they come singly; one for all that ended together while they come
 * in crowds. So a burst, or a flood of forgeries, cannot make logging the slowest part of the hub.
 */
export function createArrivalLog(log: Logger, soon: (work: () => void) => void) {
  let waiting = new Map<string, Observation[]>();

  const flush = () => {
    const groups = waiting;
    waiting = new Map();
    for (const seen of groups.values()) write(log, seen);
  };

  return (seen: Observation): void => {
    if (waiting.size === 0) soon(flush);
    const { outcome } = seen;
    const kind = outcome.outcome === "refused" ? outcome.reason : outcome.outcome;
    const key = `${seen.source} ${kind}`;
    const group = waiting.get(key);
    if (group) group.push(seen);
    else waiting.set(key, [seen]);
  };
}

function write(log: Logger, group: Observation[]): void {
  const [first] = group as [Observation, ...Observation[]];
  const { outcome, error } = first;
  const facts = {
    source: first.source.slice(0, 50),
    ms: Math.round(first.took * 10) / 10,
    ...(group.length > 1 ? { count: group.length, events: idsOf(group) } : detailsOf(first)),
  };
  if (outcome.outcome !== "refused") return void log.info(facts, outcome.outcome);
  const rejected = { ...facts, reason: outcome.reason, address: first.address };
  if (error) log.error({ ...rejected, err: error }, "refused");
  else log.warn(rejected, "refused");
}

function idsOf(group: Observation[]): string[] | undefined {
  const ids = group.flatMap(({ outcome }) => ("id" in outcome ? [outcome.id] : []));
  return ids.length > 0 ? ids : undefined;
}

function detailsOf({ outcome, arrived }: Observation): Record<string, unknown> {
  const event = arrived?.events[0];
  if (!event || !("id" in outcome)) return {};
  const { type, action, repo } = event;
  return { tenant: arrived.tenant, event: outcome.id, type, action, repo };
}
