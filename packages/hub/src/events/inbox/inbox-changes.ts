/** Changes events of the inbox: marks them as processed or pending, claims and releases them. */

import type { ReserveBytes } from "../../kernel/http/byte-budgets.ts";
import { largestFitting } from "../../kernel/lib/largest-fitting.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { EventRow } from "../model.ts";
import { claimedView, type JsonBody, serializeEvent } from "./event-view.ts";
import type { PayloadReader } from "./payload-reader.ts";

interface InboxChangesOptions {
  store: Store;
  now: () => number;
  /** Like `Math.random`. */
  random: () => number;
  /** Throws if no tenant has the event. */
  find(tenants: readonly string[], id: string, field: string): Promise<EventRow>;
  payloads: Pick<PayloadReader, "json">;
}

export function createInboxChanges({ store, now, random, find, payloads }: InboxChangesOptions) {
  return {
    /** Throws if an id is unknown. In that case, no event is marked. */
    async markProcessed(
      tenants: readonly string[],
      ids: readonly string[],
      note: string | null,
    ): Promise<{ marked: string[]; alreadyProcessed: string[] }> {
      const events = await Promise.all(ids.map((id) => find(tenants, id, "event_id")));
      const marked: string[] = [];
      const alreadyProcessed: string[] = [];
      for (const [tenant, tenantEvents] of Map.groupBy(events, (event) => event.tenant)) {
        const tenantIds = [...new Set(tenantEvents.map((event) => event.id))];
        const result = await store.markProcessed(tenant, tenantIds, now(), note);
        marked.push(...result.marked);
        alreadyProcessed.push(...result.alreadyProcessed);
      }
      return { marked, alreadyProcessed };
    },

    /** Like `markProcessed`, but for one tenant, and it returns unknown ids instead of throwing. */
    markInTenant: (tenant: string, ids: readonly string[], note: string | null) =>
      store.markProcessed(tenant, [...ids], now(), note),

    /** Makes processed events pending again. */
    reopen: (tenant: string, ids: readonly string[]) => store.reopenEvents(tenant, ids),

    /**
     * Claims an equal share of each tenant, so that the backlog of one does not delay the others. `fits`:
     * whether the response may contain these events. Events that do not fit are released again.
     */
    async claim(
      tenants: readonly string[],
      by: string,
      { limit, leaseMs, type }: { limit: number; leaseMs: number; type?: string | undefined },
      fits: (events: readonly EventRow[]) => boolean = () => true,
    ): Promise<EventRow[]> {
      const claimed: EventRow[] = [];
      const at = now();
      // Starts with a random tenant: otherwise claims with a limit of 1 would only serve the first tenant.
      const start = Math.floor(random() * tenants.length);
      let remaining = [...tenants.slice(start), ...tenants.slice(0, start)];
      while (remaining.length > 0 && claimed.length < limit) {
        const share = Math.ceil((limit - claimed.length) / remaining.length);
        const withMoreEvents: string[] = [];
        for (const tenant of remaining) {
          const max = Math.min(share, limit - claimed.length);
          if (max === 0) break;
          const until = at + leaseMs;
          const events = await store.claimEvents({ tenant, by, limit: max, now: at, until, type });
          claimed.push(...events);
          if (events.length === max) withMoreEvents.push(tenant);
        }
        remaining = withMoreEvents;
      }
      const shared = inTurns(Map.groupBy(claimed, ({ tenant }) => tenant));
      const count = largestFitting(shared.length, (n) => fits(shared.slice(0, n)));
      for (const [tenant, events] of Map.groupBy(shared.slice(count), (event) => event.tenant))
        await store.releaseEvents(
          tenant,
          events.map(({ id }) => id),
          by,
        );
      return shared.slice(0, count).sort(oldestFirst);
    },

    /**
     * Claims one event, or renews the claim of `by`. Returns the JSON of the event with the fields of
     * its summary, and with its payload unless `payload` is false.
     */
    async claimOne(
      tenants: readonly string[],
      by: string,
      id: string,
      { leaseMs, payload = true }: { leaseMs: number; payload?: boolean },
      reserveBytes?: ReserveBytes,
    ): Promise<JsonBody> {
      const { tenant, size } = await find(tenants, id, "event_id");
      if (payload) await reserveBytes?.(size);
      const at = now();
      const result = await store.claimEvent({ tenant, id, by, now: at, until: at + leaseMs });
      if (!result) throw notFound(id);
      const { applied, event } = result;
      if (!applied) throw new RequestError("changed", "event_id", claimErrorOf(event));
      if (!payload) {
        const { payload: _, ...view } = claimedView(event, null);
        return JSON.stringify(view);
      }
      return serializeEvent(claimedView(event, null), await payloads.json(event));
    },

    /** Marks an event that `by` has claimed as processed. `already`: it was processed before. */
    async markClaimedProcessed(
      tenants: readonly string[],
      by: string,
      id: string,
      note: string | null,
    ): Promise<{ already: boolean }> {
      const { tenant } = await find(tenants, id, "event_id");
      const result = await store.markClaimedProcessed(tenant, id, by, now(), note);
      if (!result) throw notFound(id);
      const { applied, event } = result;
      if (!applied && !event.processed)
        throw new RequestError("changed", "event_id", notClaimedBy(by));
      return { already: !applied };
    },

    async release(
      tenants: readonly string[],
      by: string,
      id: string,
      { delayMs, uncounted }: { delayMs?: number | undefined; uncounted?: boolean } = {},
    ): Promise<void> {
      const event = await find(tenants, id, "event_id");
      const released = await store.releaseEvents(event.tenant, [id], by, {
        notBefore: delayMs ? now() + delayMs : undefined,
        uncounted,
      });
      if (released.length === 0)
        throw new RequestError(
          "changed",
          "event_id",
          event.processed ? "is already processed" : notClaimedBy(by),
        );
    },
  };
}

/** `by` is the owner of a claim: `TOKEN` or `TOKEN/WORKER`. */
const notClaimedBy = (by: string) =>
  `is not claimed by this ${by.includes("/") ? "worker" : "token"}`;

export const notFound = (id: string, field = "event_id") =>
  new RequestError("not_found", field, `there is no event ${id}`);

function claimErrorOf({ processed, claimed_by, claimed_until }: EventRow): string {
  if (processed) return "is already processed";
  const until = new Date(claimed_until ?? 0).toISOString();
  return claimed_by === null
    ? `was released with a delay: it cannot be claimed before ${until}`
    : `is claimed by ${claimed_by} until ${until}`;
}

/** Compares events of one tenant by `seq`, since the clocks of replicas differ. */
export const oldestFirst = (a: EventRow, b: EventRow): number =>
  a.tenant === b.tenant ? a.seq - b.seq : a.received_at - b.received_at || (a.id < b.id ? -1 : 1);

/** The first of each tenant, then the second of each, and so on, so that a prefix has equal shares. */
function inTurns(ofTenants: ReadonlyMap<string, readonly EventRow[]>): EventRow[] {
  const events = [...ofTenants.values()].flatMap((rows) =>
    rows.map((event, turn) => ({ event, turn })),
  );
  return events.sort((a, b) => a.turn - b.turn).map(({ event }) => event);
}
