/**
 * Plans the runs that an event starts, before the event is stored. An event that is not compared in time
 * is stored first; see deferred-matching.ts. Triggers are cached by source and type, with an index of
 * their params, so the cost of an event does not depend on the number of other triggers. A plan contains
 * the revision of the triggers, and the store rejects it if the triggers have changed.
 */
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { breakerReason, type Trip } from "@signalbox/rules/match/breaker.ts";
import { FILTER_TIMEOUT_MS } from "@signalbox/rules/match/filter.ts";
import type { TriggerIndex } from "@signalbox/rules/match/trigger-index.ts";
import type { AppendRequest, NewEvent } from "../../events/model.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { BoundedMap } from "../../kernel/lib/bounded-map.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import { createTimeSlice } from "../../kernel/lib/yield-to-event-loop.ts";
import { wrapStoreErrors } from "../../kernel/store/availability.ts";
import type { Store } from "../../store.ts";
import type { StoredTrigger } from "../model.ts";
import { laneOf, limitOf, type ReadKey } from "../runs/lanes.ts";
import type { NewRun } from "../runs/model.ts";
import {
  type ComparedEvent,
  compareTriggers,
  indexTriggers,
  selectCandidates,
  type TriggerMatch,
} from "./compare-triggers.ts";
import { causesOf } from "./event-input.ts";
import type { EventPlan, PlannedVerdict, TriggerKey } from "./model.ts";
import { keptVerdicts, mergePlans, type PausablePlan, type PlannedGroup } from "./plans.ts";

export interface MatcherOptions {
  store: Pick<Store, "findTriggers" | "subscribe">;
  runJob: RunJob;
  now: () => number;
  newId: () => string;
  /** The maximum length of a causation chain. */
  maxChain: number;
  /** How many times per minute a trigger may fire on events that its own flow has caused. */
  maxLoops: number;
}

/** How long a request waits until its events are compared. */
interface MatchLimit {
  ms: number;
  timers: Pick<Timers, "after">;
}

export interface Plan<OfEvent = PausablePlan> {
  revision: number;
  /** One plan per event of the request; empty if no trigger listens to the events. */
  events: readonly OfEvent[];
}

/** The comparison of an event with some triggers that goes on after the time limit. */
export interface LatePlan {
  triggers: readonly TriggerKey[];
  groups: Promise<readonly PlannedGroup[]>;
  /** Ends the comparison. */
  abort(): void;
}

/** A plan whose verdicts and runs are those of the triggers that were compared in time. */
export interface LimitedPlan extends PausablePlan {
  late?: LatePlan;
}

export interface Matcher {
  /** Synchronous if, according to the cache, no trigger listens to the events. */
  plan(request: AppendRequest): MaybePromise<Plan>;
  /** Like `plan`, with a time limit. */
  planWithin(request: AppendRequest, limit: MatchLimit): MaybePromise<Plan<LimitedPlan>>;
  /** Compares a stored event with those of the triggers that still listen to it. */
  planTriggers(
    compared: ComparedEvent,
    triggers: readonly TriggerKey[],
    planOptions: Pick<PlanOptions, "decidesPaused" | "signal">,
  ): Promise<{ revision: number; groups: readonly PlannedGroup[] }>;
  /** Called when the store has rejected a plan of the tenant. */
  invalidate(tenant: string): void;
  close(): void;
}

/** The triggers of a tenant, by the source and type of events; see `cacheKey`. */
interface CachedTriggers {
  revision: number;
  indexes: BoundedMap<string, TriggerIndex<StoredTrigger>>;
}

/** The triggers that listen to the source and type of an event. */
interface Listeners {
  revision: number;
  index: TriggerIndex<StoredTrigger>;
}

const NO_LISTENERS: Listeners = {
  revision: 0,
  index: { triggers: [], paths: [], candidates: () => [] },
};
const LOADED_PER_PAGE = 500;
const NO_PLANS: readonly never[] = [];

export function createMatcher({ store, ...options }: MatcherOptions): Matcher {
  const cache = new BoundedMap<string, CachedTriggers>(10_000);
  const lookups = new Map<string, Promise<Listeners>>();
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "tools") cache.delete(notice.tenant);
    else if (notice.topic === "gap") cache.clear();
  });

  const findCached = (tenant: string, event: NewEvent): Listeners | undefined => {
    const cached = cache.get(tenant);
    // Revision 0: the tenant has never had a trigger.
    if (cached?.revision === 0) return NO_LISTENERS;
    const index = cached?.indexes.get(cacheKey(event));
    return cached && index && { revision: cached.revision, index };
  };

  /** Loads in pages, because a read blocks the event loop on SQLite. */
  const load = async (tenant: string, event: NewEvent): Promise<Listeners> => {
    const { source, source_id, type } = event;
    const endSlice = createTimeSlice();
    const triggers: StoredTrigger[] = [];
    let revision: number | undefined;
    for (;;) {
      const page = await wrapStoreErrors(
        store.findTriggers(tenant, [source, source_id], type, {
          after: triggers.at(-1),
          limit: LOADED_PER_PAGE,
        }),
      );
      // Triggers changed between two pages: the store rejects plans with the first revision.
      revision ??= page.revision;
      triggers.push(...page.triggers);
      if (page.triggers.length < LOADED_PER_PAGE) break;
      await endSlice();
    }
    const index = await indexTriggers(triggers);
    let cached = cache.get(tenant);
    if (cached?.revision !== revision) {
      cached = { revision, indexes: new BoundedMap(1_000) };
      cache.set(tenant, cached);
    }
    cached.indexes.set(cacheKey(event), index);
    return { revision, index };
  };

  /** After a change of triggers, concurrent events wait for one lookup: there can be many triggers. */
  const lookUp = (tenant: string, event: NewEvent): Promise<Listeners> => {
    const key = JSON.stringify([tenant, cacheKey(event)]);
    const lookup = lookups.get(key) ?? load(tenant, event).finally(() => lookups.delete(key));
    lookups.set(key, lookup);
    return lookup;
  };

  const findListeners = async ({ tenant, events }: AppendRequest): Promise<Listeners[]> => {
    for (;;) {
      const listeners: Listeners[] = [];
      for (const event of events)
        listeners.push(findCached(tenant, event) ?? (await lookUp(tenant, event)));
      const revision = listeners[0]?.revision ?? 0;
      // A plan has one revision. If triggers changed between two lookups, look them up again.
      if (listeners.every((ofEvent) => ofEvent.revision === revision)) return listeners;
    }
  };

  const planAll = async <OfEvent>(
    request: AppendRequest,
    planOne: (compared: ComparedEvent, index: TriggerIndex<StoredTrigger>) => Promise<OfEvent>,
  ): Promise<Plan<OfEvent>> => {
    const { tenant, events, data } = request;
    const listeners = await findListeners(request);
    const revision = listeners[0]?.revision ?? 0;
    if (listeners.every(({ index }) => index.triggers.length === 0))
      return { revision, events: NO_PLANS };
    // In parallel, so that the filters of a request are evaluated in one batch.
    const plans = await Promise.all(
      events.map((event, position) =>
        planOne(
          { tenant, event, data: data?.[position] },
          (listeners[position] ?? NO_LISTENERS).index,
        ),
      ),
    );
    return { revision, events: plans };
  };

  /** Plans without a lookup if, according to the cache, no trigger listens to the events. */
  const orNoPlans = <OfEvent>(
    request: AppendRequest,
    planOne: (compared: ComparedEvent, index: TriggerIndex<StoredTrigger>) => Promise<OfEvent>,
  ): MaybePromise<Plan<OfEvent>> => {
    const revision = cache.get(request.tenant)?.revision;
    const isUnheard = (event: NewEvent) =>
      findCached(request.tenant, event)?.index.triggers.length === 0;
    return revision !== undefined && request.events.every(isUnheard)
      ? { revision, events: NO_PLANS }
      : planAll(request, planOne);
  };

  return {
    plan: (request) =>
      orNoPlans(request, async (compared, index) =>
        planEvent(compared, await selectCandidates(compared, index, options), options),
      ),
    planWithin: (request, limit) =>
      orNoPlans(request, (compared, index) => planWithin(compared, index, limit, options)),
    async planTriggers({ tenant, event }, keys, planOptions) {
      const wanted = new Set(keys.map(textOf));
      const request = { tenant, events: [event] };
      const { revision, events } = await planAll(request, async (compared, index) => {
        const candidates = await selectCandidates(compared, index, options);
        const remaining = candidates.filter((trigger) => wanted.has(textOf(trigger)));
        return planGroups(compared, remaining, { ...options, ...planOptions });
      });
      return { revision, groups: events[0] ?? [] };
    },
    invalidate: (tenant) => cache.delete(tenant),
    close: unsubscribe,
  };
}

export type PlanOptions = Omit<MatcherOptions, "store"> & {
  cause?: "event" | "replay";
  signal?: AbortSignal;
  /** A paused filter is evaluated briefly, and its trigger decided; otherwise the trigger is in `paused`. */
  decidesPaused?: boolean;
};

export const textOf = ({ flow_id, node_id }: TriggerKey): string =>
  JSON.stringify([flow_id, node_id]);

export const MAX_GROUPS = 16;

/**
 * Triggers with the same filter form a group: each group is decided as soon as its filter is evaluated. A
 * large event has only two groups, because each group parses its payload.
 */
function groupByFilter(
  { event }: ComparedEvent,
  triggers: readonly StoredTrigger[],
): (readonly StoredTrigger[])[] {
  const isLarge = event.body.byteLength > LARGE_BYTES;
  const groups = Map.groupBy(triggers, ({ config: { filter } }) =>
    isLarge ? Boolean(filter) : (filter ?? false),
  );
  // Those without a filter come first, so that they are not merged with others.
  const lists = [...groups]
    .toSorted(([a], [b]) => Number(a !== false) - Number(b !== false))
    .map(([, list]) => list);
  return lists.length <= MAX_GROUPS
    ? lists
    : [...lists.slice(0, MAX_GROUPS - 1), lists.slice(MAX_GROUPS - 1).flat()];
}

/** Compares an event with each group of the triggers. */
const planGroups = (
  compared: ComparedEvent,
  triggers: readonly StoredTrigger[],
  options: PlanOptions,
): PlannedGroup[] =>
  groupByFilter(compared, triggers).map((group) => {
    const plan = planEvent(compared, group, options);
    plan.catch(() => {}); // a group can fail before its plan is awaited
    return { triggers: group, plan };
  });

/** Triggers without a filter are decided in time, even if the filters of other triggers are slow. */
async function planWithin(
  compared: ComparedEvent,
  index: TriggerIndex<StoredTrigger>,
  limit: MatchLimit,
  options: PlanOptions,
): Promise<LimitedPlan> {
  const controller = new AbortController();
  const limited = { ...options, signal: controller.signal };
  let groups: readonly PlannedGroup[] | undefined;
  const decided = new Map<PlannedGroup, PausablePlan>();
  const started = selectCandidates(compared, index, limited).then((candidates) => {
    groups = planGroups(compared, candidates, limited);
    return groups;
  });
  const planning = started.then((all) =>
    Promise.all(
      all.map(async (group) => {
        const plan = await group.plan;
        decided.set(group, plan);
        return plan;
      }),
    ),
  );
  const plans = await endWithin(planning, limit);
  if (plans) return mergePlans(plans);
  planning.catch(() => {}); // `late.groups` is awaited instead
  const inTime = new Map(decided);
  const lateOf = (all: readonly PlannedGroup[]) => all.filter((group) => !inTime.has(group));
  return {
    ...mergePlans([...inTime.values()]),
    late: {
      // All triggers, if the candidates are not known yet.
      triggers: groups ? lateOf(groups).flatMap(({ triggers }) => triggers) : index.triggers,
      groups: started.then(lateOf),
      abort: () => controller.abort(),
    },
  };
}

/** Compares an event with triggers. Returns the verdicts to store, and a run for each match. */
export async function planEvent(
  compared: ComparedEvent,
  triggers: readonly StoredTrigger[],
  options: PlanOptions,
): Promise<PausablePlan> {
  if (triggers.length === 0) return { verdicts: [], runs: [] };
  const { event } = compared;
  // A replay starts a new chain, even if a run caused the event.
  const causes = options.cause === "replay" ? { depth: 0, chain: [] } : causesOf(event);
  const matches = await compareTriggers(compared, triggers, options);
  const paused: TriggerKey[] = [];
  let pausedUntil = 0;
  const verdicts: EventPlan["verdicts"] = [];
  const runs: NewRun[] = [];
  for (const [index, trigger] of triggers.entries()) {
    const { flow_id, node_id, version } = trigger;
    const { readKey, pausedUntil: until, ...verdict } = matches[index] as TriggerMatch;
    if (until !== undefined && !options.decidesPaused) {
      paused.push({ flow_id, node_id });
      pausedUntil = Math.max(pausedUntil, until);
      continue;
    }
    const planned = applyBreaker({ flow_id, node_id, version, ...verdict }, causes, options);
    verdicts.push(planned);
    if (planned.matched) runs.push(createRun(trigger, event, readKey, causes, options));
  }
  return {
    verdicts: keptVerdicts(verdicts),
    runs,
    ...(paused.length > 0 && { paused: { triggers: paused, until: pausedUntil } }),
  };
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

/** Resolves with undefined if the plan takes longer. */
const endWithin = <Planned>(
  planning: Promise<Planned>,
  { ms, timers }: MatchLimit,
): Promise<Planned | undefined> =>
  new Promise((resolve, reject) => {
    const cancel = timers.after(ms, () => resolve(undefined));
    planning.finally(cancel).then(resolve, reject);
  });

/**
 * Reports a filter that exceeds its limits, so that its flow gets a warning. Prevents the match if the causation chain is too long. If the flow has caused the event itself, adds
 * the limit that the store checks: it counts how many times a flow triggers itself.
 */
function applyBreaker(
  verdict: PlannedVerdict,
  { depth, chain }: Causes,
  { maxChain, maxLoops }: PlanOptions,
): PlannedVerdict {
  const withReason = (trip: Trip) => ({ ...trip, reason: breakerReason(trip) });
  if (verdict.reasons.some(({ overrun }) => overrun))
    return { ...verdict, breaker: withReason({ limit: "filter", max: FILTER_TIMEOUT_MS / 1000 }) };
  if (!verdict.matched) return verdict;
  if (depth >= maxChain) {
    const breaker = withReason({ limit: "chain", max: maxChain });
    return { ...verdict, matched: false, reasons: [...verdict.reasons, breaker.reason], breaker };
  }
  if (!chain.includes(verdict.flow_id)) return verdict;
  return { ...verdict, breaker: withReason({ limit: "loops", max: maxLoops }) };
}
