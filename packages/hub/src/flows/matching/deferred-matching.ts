/**
 * Bounds the time for which the sender of a webhook waits until its event is matched. If filters are not
 * evaluated within this time, the event is stored without the verdicts and runs of their triggers, and with a
 * row in `matching_events`. They are stored as soon as they are known, in a second transaction. If the process
 * ends before that, or if too many events wait in it, the row is claimed later, by any process, and the event is
 * compared with these triggers again.
 */

import { backoffMs } from "@signalbox/rules/backoff.ts";
import type { LargeReads } from "../../events/inbox/large-reads.ts";
import type { AppendRequest, AppendResult, NewEvent, StalePlan } from "../../events/model.ts";
import { createBatcher } from "../../kernel/lib/batcher.ts";
import { createClaimLoop } from "../../kernel/lib/claim-loop.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import { createShares } from "../../kernel/lib/shares.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { type LatePlan, type LimitedPlan, MAX_GROUPS, type Matcher, type Plan } from "./matcher.ts";
import type {
  ClaimedMatching,
  EventPlan,
  FinishedMatching,
  MatchingClaimRef,
  MatchingResult,
  TriggerKey,
  TrippedTrigger,
} from "./model.ts";
import {
  decidedPlans,
  isAlwaysKept,
  keptVerdicts,
  MAX_MISSES,
  mergePaused,
  type PausedTriggers,
  type PlannedGroup,
} from "./plans.ts";

export interface DeferredMatchingOptions {
  store: Pick<
    Store,
    | "claimMatching"
    | "finishMatching"
    | "moveMatching"
    | "nextMatchingDue"
    | "getEvent"
    | "getPayload"
    | "subscribe"
    | "isDataError"
  >;
  matcher: Pick<Matcher, "plan" | "planWithin" | "planTriggers" | "invalidate">;
  largeReads: LargeReads;
  timers: Timers;
  /** The time for which a sender waits; undefined on hosts where a comparison cannot be left to go on. */
  withinMs: number | undefined;
  onTripped(tenant: string, tripped: TrippedTrigger): void;
  onError(error: unknown): void;
}

/** The plan of a request. If events of it are deferred, `onAppended` must be called with its result. */
export interface DeferrablePlan extends Plan<EventPlan> {
  onAppended?(appending: Promise<AppendResult | StalePlan>): void;
}

export interface DeferredMatching {
  plan(request: AppendRequest): MaybePromise<DeferrablePlan>;
  invalidate(tenant: string): void;
  /** The number of events that this process is matching after they were stored. */
  countActive(): number;
  /** Stops. Other processes can match the remaining events immediately. */
  close(): Promise<void>;
}

/** If the process ends, its events are matched by another one after this time. */
const CLAIM_MS = 30_000;
const RENEW_MS = 10_000;
const LEFT_OUT_MS = 1_000;
/**
 * The limit of the events whose comparison goes on after they were stored. Flows have fair shares, so that
 * the events of a slow filter do not displace those of other flows.
 */
const MAX_HELD_BYTES = 64 * 1024 * 1024;
/** What a small event counts: most of its memory is not its body. */
const MIN_HELD_BYTES = 128 * 1024;
/** The limits of the events that are claimed: in total, and of one tenant. */
const MAX_CLAIMED = 64;
const MAX_CLAIMED_OF_TENANT = 32;
/** After so many claims, a trigger is decided although its filter is paused. */
const MAX_PAUSES = 2;
const BACKOFF = { firstMs: 1_000, maxMs: 5 * 60_000, random: Math.random };

interface HeldEvent {
  claim: MatchingClaimRef;
  revision: number;
  late: LatePlan;
  /** The triggers whose filters are paused. */
  paused: PausedTriggers | undefined;
}

export function createDeferredMatching(options: DeferredMatchingOptions): DeferredMatching {
  const { store, matcher, largeReads, timers, withinMs, onTripped, onError } = options;
  const held = new Set<HeldEvent>();
  const claimedByTenant = new Map<string, number>();
  const shares = createShares(MAX_HELD_BYTES);
  let claimed = 0;
  let lastTenant = "";
  let isClosed = false;
  const closing = new AbortController();
  const active = new Set<ClaimedMatching>();
  /** Whether the last claim has left out events of a tenant, because too many of them are being matched. */
  let hasLeftOut = false;
  let cancelRenewal: (() => void) | undefined;

  const listClaims = (): MatchingClaimRef[] => [...[...held].map(({ claim }) => claim), ...active];
  /** Evaluations can wait longer than a claim. Without renewals, they would be repeated. */
  const renew = async () => {
    cancelRenewal = undefined;
    const claims = listClaims();
    if (isClosed || claims.length === 0) return;
    await store.moveMatching(claims, timers.now() + CLAIM_MS).catch(onError);
    scheduleRenewal();
  };
  const scheduleRenewal = () => {
    if (!isClosed) cancelRenewal ??= timers.after(RENEW_MS, () => void renew());
  };
  const reportUnlessClosed = (error: unknown) => {
    if (!isClosed) onError(error);
  };

  const { add: finish, drain } = createBatcher<FinishedMatching, MatchingResult>({
    flush: store.finishMatching,
    defer: timers.defer,
    maxItems: 64,
    isItemError: store.isDataError,
  });
  /**
   * Stores verdicts and runs of deferred triggers, those of each group as soon as it is decided. Returns the
   * triggers that must be compared again, because triggers have changed meanwhile.
   */
  const storeDecided = async (
    claim: MatchingClaimRef,
    revision: number,
    groups: readonly PlannedGroup[],
    pausedInTime?: PausedTriggers,
  ): Promise<readonly TriggerKey[]> => {
    let paused = pausedInTime;
    let misses = MAX_MISSES;
    let remaining = [
      ...groups.flatMap(({ triggers }) => triggers),
      ...(paused?.triggers ?? []),
    ] as readonly TriggerKey[];
    for await (const { plan, rest } of decidedPlans(groups)) {
      if (isClosed) return []; // `close` releases the event
      paused = mergePaused([paused, plan.paused]);
      const until = rest.length > 0 ? timers.now() + CLAIM_MS : paused?.until;
      const triggers = [...rest, ...(paused?.triggers ?? [])];
      const verdicts = keptVerdicts(plan.verdicts, misses);
      misses -= verdicts.filter((verdict) => !isAlwaysKept(verdict)).length;
      const result = await finish({
        ...claim,
        revision,
        plan: {
          verdicts,
          runs: plan.runs,
          ...(until !== undefined && { deferred: { triggers, until } }),
        },
      });
      if (result.outcome === "gone") return [];
      if (result.outcome === "stale") {
        matcher.invalidate(claim.tenant);
        return remaining;
      }
      for (const tripped of result.tripped) onTripped(claim.tenant, tripped);
      remaining = triggers;
    }
    return [];
  };

  /** Waits for the comparison of a stored event, and stores its result. */
  const finishHeld = async ({ claim, revision, late, paused }: HeldEvent) => {
    try {
      const changed = await storeDecided(claim, revision, await late.groups, paused);
      if (changed.length === 0) return;
    } catch (error) {
      reportUnlessClosed(error);
    }
    // Otherwise, `close` releases it.
    if (!isClosed) await store.moveMatching([claim], timers.now()).catch(onError);
  };
  /** Returns a function that ends the comparison. Undefined if the flows of the triggers hold too much. */
  const hold = (entry: HeldEvent, bytes: number): (() => void) | undefined => {
    const { claim, late } = entry;
    const amount = Math.max(bytes, MIN_HELD_BYTES);
    const path = late.triggers
      .slice(0, MAX_GROUPS)
      .map(({ flow_id }) => [claim.tenant, flow_id])
      .find((ofFlow) => shares.room(ofFlow) >= amount);
    if (isClosed || !path) return undefined;
    const giveBack = shares.take(path, amount);
    held.add(entry);
    scheduleRenewal();
    return () => {
      held.delete(entry);
      giveBack();
      late.abort();
    };
  };
  const follow = async (
    entries: readonly { entry: HeldEvent; drop(): void }[],
    appending: Promise<AppendResult | StalePlan>,
  ) => {
    const appended = await appending.catch(() => undefined);
    const stored = new Set(
      appended?.outcome === "stored"
        ? appended.events.flatMap(({ id, duplicate }) => (duplicate ? [] : [id]))
        : [],
    );
    for (const { entry, drop } of entries)
      if (stored.has(entry.claim.id)) void finishHeld(entry).finally(drop);
      else drop();
  };
  const defer = (
    { tenant, events }: AppendRequest,
    { revision, events: plans }: Plan<LimitedPlan>,
  ): DeferrablePlan => {
    const entries: { entry: HeldEvent; drop(): void }[] = [];
    const now = timers.now();
    const deferred = plans.map(({ late, paused, ...plan }, index): EventPlan => {
      if (!late) return { ...plan, ...(paused && { deferred: paused }) };
      const { id, body } = events[index] as NewEvent;
      const entry = { claim: { tenant, id, attempts: 0 }, revision, late, paused };
      const drop = hold(entry, body.byteLength);
      if (drop) entries.push({ entry, drop });
      else late.abort();
      const triggers = [...late.triggers, ...(paused?.triggers ?? [])];
      return { ...plan, deferred: { triggers, until: drop ? now + CLAIM_MS : now } };
    });
    return {
      revision,
      events: deferred,
      ...(entries.length > 0 && {
        onAppended: (appending) => void follow(entries, appending),
      }),
    };
  };

  const matchClaimed = async (claim: ClaimedMatching): Promise<void> => {
    const { tenant, id, attempts, triggers } = claim;
    const row = await store.getEvent(tenant, id);
    if (!row) return;
    await largeReads(row, async () => {
      const payload = await store.getPayload(tenant, row.seq);
      if (!payload) return;
      const event = { ...row, ...payload };
      const decidesPaused = attempts >= MAX_PAUSES;
      let remaining: readonly TriggerKey[] = triggers;
      do {
        const controller = new AbortController();
        const signal = AbortSignal.any([closing.signal, controller.signal]);
        const options = { decidesPaused, signal };
        const planned = await matcher.planTriggers({ tenant, event }, remaining, options);
        remaining = await storeDecided(claim, planned.revision, planned.groups);
        controller.abort();
      } while (remaining.length > 0 && !isClosed);
    });
  };
  const countClaimed = (tenant: string, change: 1 | -1) => {
    claimed += change;
    const total = (claimedByTenant.get(tenant) ?? 0) + change;
    if (total > 0) claimedByTenant.set(tenant, total);
    else claimedByTenant.delete(tenant);
  };
  const loop = createClaimLoop<ClaimedMatching>({
    timers,
    freeCapacity: () => MAX_CLAIMED - claimed,
    async claim(limit) {
      const now = timers.now();
      hasLeftOut = false;
      const result = await store.claimMatching({
        now,
        until: now + CLAIM_MS,
        limit,
        after: lastTenant,
        room(tenant) {
          const room = MAX_CLAIMED_OF_TENANT - (claimedByTenant.get(tenant) ?? 0);
          hasLeftOut ||= room <= 0;
          return room;
        },
      });
      lastTenant = result.after;
      return result.claimed;
    },
    async nextDue() {
      const due = await store.nextMatchingDue();
      // An event that was left out is claimed when another one of its tenant ends.
      return due !== null && hasLeftOut ? Math.max(due, timers.now() + LEFT_OUT_MS) : due;
    },
    async begin(item) {
      const { tenant, attempts } = item;
      countClaimed(tenant, 1);
      active.add(item);
      scheduleRenewal();
      try {
        await matchClaimed(item);
      } catch (error) {
        reportUnlessClosed(error);
        const due = timers.now() + backoffMs(attempts, BACKOFF);
        if (!isClosed) await store.moveMatching([item], due).catch(() => {});
      } finally {
        active.delete(item);
        countClaimed(tenant, -1);
      }
    },
    onError,
  });
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "gap") loop.claimDue();
    else if (notice.topic === "matching") loop.claimAt(notice.due);
  });
  loop.claimDue();

  return {
    plan(request) {
      const planned =
        withinMs === undefined
          ? matcher.plan(request)
          : matcher.planWithin(request, { ms: withinMs, timers });
      // Synchronous if no trigger listens to the events: then none is deferred.
      return planned instanceof Promise
        ? planned.then((plan) => defer(request, plan))
        : { revision: planned.revision, events: [] };
    },
    invalidate: matcher.invalidate,
    countActive: () => held.size + claimed,
    async close() {
      isClosed = true;
      closing.abort();
      unsubscribe();
      await loop.close();
      cancelRenewal?.();
      const rest = listClaims();
      for (const { late } of held) late.abort();
      await drain();
      await store.moveMatching(rest, timers.now());
    },
  };
}
