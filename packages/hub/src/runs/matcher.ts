/**
 * Which runs an event will start, found out before it is stored. Triggers are remembered by sender
 * and type, so an event costs the same however many triggers there are that it cannot start. What
 * is remembered has a revision; the store refuses an event that was matched against an old one.
 */
import { BoundedMap } from "@signalbox/rules/bounded-map.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { breakerReason, type Trip } from "@signalbox/rules/match/breaker.ts";
import { type Allowance, createTurn } from "@signalbox/rules/match/budget.ts";
import { openAllowance } from "@signalbox/rules/match/filter.ts";
import { matchTrigger, type Verdict } from "@signalbox/rules/match/match-trigger.ts";
import type { MaybePromise } from "../lib/hmac.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { EventPlan, NewRun, PlannedVerdict } from "../store/run-store.ts";
import type { AppendRequest, NewEvent, Store } from "../store/store.ts";
import { causesOf, dataOf } from "./event-input.ts";
import { laneOf, limitOf } from "./lanes.ts";

export interface MatcherOptions {
  store: Pick<Store, "findTriggers" | "subscribe">;
  newId: () => string;
  now: () => number;
  /** A chain of runs and events that cause each other ends here. */
  maxDepth: number;
  /** How often a minute a trigger fires on events that its own flow has led to. */
  maxLoops: number;
}

/** The plan of all events of an arrival; `events` is empty where none of them starts anything. */
interface Plan {
  revision: number;
  events: readonly EventPlan[];
}

export interface Matcher {
  plan(arrived: AppendRequest): MaybePromise<Plan>;
  /** The store has seen newer triggers. */
  forget(tenant: string): void;
  close(): void;
}

interface Remembered {
  revision: number;
  triggers: BoundedMap<string, readonly StoredTrigger[]>;
}

/** The triggers that an event may start. */
interface Found {
  revision: number;
  triggers: readonly StoredTrigger[];
}

const NOTHING: Found = { revision: 0, triggers: [] };
const NO_PLANS: readonly EventPlan[] = [];

export function createMatcher({ store, ...options }: MatcherOptions): Matcher {
  const tenants = new BoundedMap<string, Remembered>(10_000);
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "tools") tenants.delete(notice.tenant);
    else if (notice.topic === "gap") tenants.clear();
  });

  const recall = (tenant: string, event: NewEvent): Found | undefined => {
    const known = tenants.get(tenant);
    // Without any trigger there is nothing to look up, whatever comes.
    if (known?.revision === 0) return NOTHING;
    const triggers = known?.triggers.get(keyOf(event));
    return known && triggers && { revision: known.revision, triggers };
  };

  const look = async (tenant: string, event: NewEvent): Promise<Found> => {
    const { source, source_id, type } = event;
    const found = await store.findTriggers(tenant, [source, source_id], type);
    let known = tenants.get(tenant);
    if (known?.revision !== found.revision) {
      known = { revision: found.revision, triggers: new BoundedMap(1_000) };
      tenants.set(tenant, known);
    }
    known.triggers.set(keyOf(event), found.triggers);
    return found;
  };

  const planAll = async ({ tenant, events }: AppendRequest): Promise<Plan> => {
    for (;;) {
      const found: Found[] = [];
      for (const event of events) found.push(recall(tenant, event) ?? (await look(tenant, event)));
      const revision = found[0]?.revision ?? 0;
      // Triggers that were looked up one after another must be of one revision.
      if (found.some((one) => one.revision !== revision)) continue;
      if (found.every(({ triggers }) => triggers.length === 0))
        return { revision, events: NO_PLANS };
      const plans: EventPlan[] = [];
      for (const [nth, event] of events.entries())
        plans.push(await planEvent(tenant, event, found[nth]?.triggers ?? [], options));
      return { revision, events: plans };
    }
  };

  return {
    plan(arrived) {
      const revision = tenants.get(arrived.tenant)?.revision;
      if (revision !== undefined)
        if (arrived.events.every((event) => recall(arrived.tenant, event)?.triggers.length === 0))
          return { revision, events: NO_PLANS };
      return planAll(arrived);
    },
    forget: (tenant) => tenants.delete(tenant),
    close: unsubscribe,
  };
}

export type PlanOptions = Omit<MatcherOptions, "store"> & { cause?: "event" | "replay" };

/** The verdict of each trigger on an event, and the runs of those that match. */
export async function planEvent(
  tenant: string,
  event: NewEvent,
  triggers: readonly StoredTrigger[],
  options: PlanOptions,
): Promise<EventPlan> {
  const data = triggers.length === 0 ? null : dataOf(event.source, event);
  // Whoever asks for an event once more begins a chain, whatever had led to it.
  const causes = options.cause === "replay" ? { depth: 0, chain: [] } : causesOf(event);
  const verdicts: EventPlan["verdicts"] = [];
  const runs: NewRun[] = [];
  const allowance = openAllowance();
  const turn = createTurn();
  for (const trigger of triggers) {
    const { flow_id, node_id, version } = trigger;
    const judged = await judge(tenant, event, data, trigger, allowance);
    if (turn.isOver()) await turn.giveWay();
    const verdict = guard({ flow_id, node_id, version, ...judged }, causes, options);
    verdicts.push(verdict);
    if (verdict.matched) runs.push(runFor(trigger, event, data, causes, options));
  }
  return { verdicts, runs };
}

function runFor(
  trigger: StoredTrigger,
  { id }: NewEvent,
  data: Json,
  { depth, chain }: Causes,
  { newId, now, cause = "event" }: PlanOptions,
): NewRun {
  const { tenant, app, flow_id, node_id, version, config } = trigger;
  const at = now();
  // Whoever asks for an event once more does not want to wait for others like it, nor to be skipped.
  const waits = cause === "event" ? (config.gather as Gather | undefined) : undefined;
  const limit = limitOf(trigger, data);
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
    due_at: waits ? at + waits.forMs : at,
    depth: depth + 1,
    chain,
    ...(waits && { gather: { lane: laneOf(trigger, waits.key, data) } }),
    ...(limit && { limit: cause === "event" ? limit : { ...limit, whenFull: "queue" } }),
  };
}

/** Which events are told together; see the Event node. */
interface Gather {
  forMs: number;
  key?: string;
}

const keyOf = ({ source, source_id, type }: NewEvent): string =>
  JSON.stringify([source, source_id, type]);

export const judge = (
  tenant: string,
  event: NewEvent,
  data: Json,
  { source, type, active, config }: StoredTrigger,
  allowance?: Allowance,
): Promise<Verdict> =>
  matchTrigger(
    {
      id: event.id,
      tenant,
      source: event.source,
      sourceId: event.source_id,
      type: event.type,
      data,
      receivedAt: event.received_at,
    },
    {
      tenant,
      source: source ?? "",
      type: type ?? undefined,
      params: config.params as JsonObject | undefined,
      filter: config.filter as string | undefined,
      isActive: active,
    },
    allowance,
  );

type Causes = ReturnType<typeof causesOf>;

/** Stops a chain that is too long. How often a flow has set itself off only the store can count. */
function guard(
  verdict: PlannedVerdict,
  { depth, chain }: Causes,
  { maxDepth, maxLoops }: PlanOptions,
): PlannedVerdict {
  if (!verdict.matched) return verdict;
  const by = (trip: Trip) => ({ ...trip, reason: breakerReason(trip) });
  if (depth >= maxDepth) {
    const breaker = by({ limit: "chain", most: maxDepth });
    return { ...verdict, matched: false, reasons: [...verdict.reasons, breaker.reason], breaker };
  }
  if (!chain.includes(verdict.flow_id)) return verdict;
  return { ...verdict, breaker: by({ limit: "loops", most: maxLoops }) };
}
