/**
 * Plans the runs that an event starts, before the event is stored. Triggers are cached by source and
 * type, so the cost of an event does not depend on the number of other triggers. A plan contains the
 * revision of the triggers, and the store rejects it if the triggers have changed.
 */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { breakerReason, type Trip } from "@signalbox/rules/match/breaker.ts";
import { wrapStoreErrors } from "../ingest/wrap-store-errors.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { EventPlan, NewRun, PlannedVerdict } from "../store/run-store.ts";
import type { AppendRequest, NewEvent, Store } from "../store/store.ts";
import { type ComparedEvent, compareTriggers, type TriggerMatch } from "./compare-triggers.ts";
import { causesOf } from "./event-input.ts";
import { laneOf, limitOf, type ReadKey } from "./lanes.ts";

export interface MatcherOptions {
  store: Pick<Store, "findTriggers" | "subscribe">;
  evaluate: Evaluate;
  now: () => number;
  newId: () => string;
  /** The maximum length of a causation chain. */
  maxChain: number;
  /** How many times per minute a trigger may fire on events that its own flow has caused. */
  maxLoops: number;
}

interface Plan {
  revision: number;
  /** One plan per event of the request; empty if no event has a candidate trigger. */
  events: readonly EventPlan[];
}

export interface Matcher {
  /** Synchronous if, according to the cache, no trigger listens to the events. */
  plan(request: AppendRequest): MaybePromise<Plan>;
  /** Called when the store has rejected a plan of the tenant. */
  invalidate(tenant: string): void;
  close(): void;
}

/** The triggers of a tenant, by the source and type of events; see `cacheKey`. */
interface CachedTriggers {
  revision: number;
  triggers: BoundedMap<string, readonly StoredTrigger[]>;
}

/** The triggers that listen to the source and type of an event. */
interface Candidates {
  revision: number;
  triggers: readonly StoredTrigger[];
}

const NO_CANDIDATES: Candidates = { revision: 0, triggers: [] };
const NO_PLANS: readonly EventPlan[] = [];

export function createMatcher({ store, ...options }: MatcherOptions): Matcher {
  const cache = new BoundedMap<string, CachedTriggers>(10_000);
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "tools") cache.delete(notice.tenant);
    else if (notice.topic === "gap") cache.clear();
  });

  const findCached = (tenant: string, event: NewEvent): Candidates | undefined => {
    const cached = cache.get(tenant);
    // Revision 0: the tenant has never had a trigger.
    if (cached?.revision === 0) return NO_CANDIDATES;
    const triggers = cached?.triggers.get(cacheKey(event));
    return cached && triggers && { revision: cached.revision, triggers };
  };

  const lookUp = async (tenant: string, event: NewEvent): Promise<Candidates> => {
    const { source, source_id, type } = event;
    const candidates = await wrapStoreErrors(store.findTriggers(tenant, [source, source_id], type));
    let cached = cache.get(tenant);
    if (cached?.revision !== candidates.revision) {
      cached = { revision: candidates.revision, triggers: new BoundedMap(1_000) };
      cache.set(tenant, cached);
    }
    cached.triggers.set(cacheKey(event), candidates.triggers);
    return candidates;
  };

  const planAll = async ({ tenant, events, data }: AppendRequest): Promise<Plan> => {
    for (;;) {
      const candidates: Candidates[] = [];
      for (const event of events)
        candidates.push(findCached(tenant, event) ?? (await lookUp(tenant, event)));
      const revision = candidates[0]?.revision ?? 0;
      // A plan has one revision. If triggers changed between two lookups, look them up again.
      if (candidates.some((ofEvent) => ofEvent.revision !== revision)) continue;
      if (candidates.every(({ triggers }) => triggers.length === 0))
        return { revision, events: NO_PLANS };
      const plans: EventPlan[] = [];
      for (const [index, event] of events.entries())
        plans.push(
          await planEvent(
            { tenant, event, data: data?.[index] },
            candidates[index]?.triggers ?? [],
            options,
          ),
        );
      return { revision, events: plans };
    }
  };

  return {
    plan(request) {
      const revision = cache.get(request.tenant)?.revision;
      if (revision !== undefined)
        if (
          request.events.every((event) => findCached(request.tenant, event)?.triggers.length === 0)
        )
          return { revision, events: NO_PLANS };
      return planAll(request);
    },
    invalidate: (tenant) => cache.delete(tenant),
    close: unsubscribe,
  };
}

export type PlanOptions = Omit<MatcherOptions, "store"> & { cause?: "event" | "replay" };

/** Compares an event with triggers. Returns a verdict for each trigger, and a run for each match. */
export async function planEvent(
  compared: ComparedEvent,
  triggers: readonly StoredTrigger[],
  options: PlanOptions,
): Promise<EventPlan> {
  if (triggers.length === 0) return { verdicts: [], runs: [] };
  const { event } = compared;
  // A replay starts a new chain, even if a run caused the event.
  const causes = options.cause === "replay" ? { depth: 0, chain: [] } : causesOf(event);
  const matches = await compareTriggers(compared, triggers, options);
  const verdicts: EventPlan["verdicts"] = [];
  const runs: NewRun[] = [];
  for (const [index, trigger] of triggers.entries()) {
    const { flow_id, node_id, version } = trigger;
    const { readKey, ...verdict } = matches[index] as TriggerMatch;
    const planned = applyBreaker({ flow_id, node_id, version, ...verdict }, causes, options);
    verdicts.push(planned);
    if (planned.matched) runs.push(createRun(trigger, event, readKey, causes, options));
  }
  return { verdicts, runs };
}

function createRun(
  trigger: StoredTrigger,
  { id }: NewEvent,
  readKey: ReadKey,
  { depth, chain }: Causes,
  { newId, now, cause = "event" }: PlanOptions,
): NewRun {
  const { tenant, app, flow_id, node_id, version, config } = trigger;
  const at = now();
  // A replay is neither gathered with other events nor skipped by a concurrency limit.
  const gather = cause === "event" ? (config.gather as Gather | undefined) : undefined;
  const limit = limitOf(trigger, readKey);
  return {
    id: newId(),
    tenant,
    app,
    flow_id,
    version,
    trigger_node: node_id,
    cause,
    event_id: id,
    input: {},
    at,
    due_at: gather ? at + gather.forMs : at,
    depth: depth + 1,
    chain,
    ...(gather && { gather: { lane: laneOf(trigger, gather.key, readKey) } }),
    ...(limit && { limit: cause === "event" ? limit : { ...limit, whenFull: "queue" } }),
  };
}

/** The field `gather` in the config of an Event node. */
interface Gather {
  forMs: number;
  key?: string;
}

const cacheKey = ({ source, source_id, type }: NewEvent): string =>
  JSON.stringify([source, source_id, type]);

type Causes = ReturnType<typeof causesOf>;

/**
 * Prevents the match if the causation chain is too long. If the flow has caused the event itself, adds
 * the limit that the store checks: it counts how many times a flow triggers itself.
 */
function applyBreaker(
  verdict: PlannedVerdict,
  { depth, chain }: Causes,
  { maxChain, maxLoops }: PlanOptions,
): PlannedVerdict {
  if (!verdict.matched) return verdict;
  const withReason = (trip: Trip) => ({ ...trip, reason: breakerReason(trip) });
  if (depth >= maxChain) {
    const breaker = withReason({ limit: "chain", max: maxChain });
    return { ...verdict, matched: false, reasons: [...verdict.reasons, breaker.reason], breaker };
  }
  if (!chain.includes(verdict.flow_id)) return verdict;
  return { ...verdict, breaker: withReason({ limit: "loops", max: maxLoops }) };
}
