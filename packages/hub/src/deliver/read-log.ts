/**
 * The wanted events after a place in the logs of several tenants, oldest first. What one call costs
 * is bounded, however rare they are: it may find nothing, and still have come further.
 */
import { type Cursor, decodeCursor } from "../inbox/cursor.ts";
import { RequestError } from "../lib/request-error.ts";
import type { EventRow, Store } from "../store/store.ts";
import { isWanted, type Wanted } from "./wanted.ts";

type Log = Pick<Store, "getTenant" | "listEvents">;

/** Rows that one call looks at in each log, at the most. */
const MOST_LOOKED_AT = 5_000;

export interface LogQuery {
  tenants: readonly string[];
  after: Cursor;
  wanted: Wanted;
  limit: number;
  /** Ends early when the payloads take so much. */
  mostBytes?: number;
}

export interface LogRead {
  /** Each with the cursor of whoever has seen it and all before it. */
  found: { event: EventRow; cursor: Cursor }[];
  reached: Cursor;
  more: boolean;
}

export async function readLog(store: Log, query: LogQuery): Promise<LogRead> {
  const { tenants, after, limit, mostBytes = Number.POSITIVE_INFINITY } = query;
  const logs = await Promise.all(
    tenants.map(async (tenant) => ({ tenant, ...(await scan(store, tenant, query)) })),
  );
  const found: LogRead["found"] = [];
  let cursor = after;
  let bytes = 0;
  for (;;) {
    const next = logs
      .filter(({ events }) => events.length > 0)
      .reduce<(typeof logs)[number] | undefined>(
        (best, log) =>
          best &&
          (best.events[0] as EventRow).received_at <= (log.events[0] as EventRow).received_at
            ? best
            : log,
        undefined,
      );
    const event = next?.events[0];
    if (!next || !event || found.length === limit) break;
    bytes += event.size;
    if (found.length > 0 && bytes > mostBytes) break;
    next.events.shift();
    cursor = new Map(cursor).set(next.tenant, event.seq);
    found.push({ event, cursor });
  }
  const reached = new Map(cursor);
  for (const { tenant, events, looked } of logs)
    reached.set(tenant, events[0] ? events[0].seq - 1 : looked);
  return { found, reached, more: logs.some(({ events, more }) => more || events.length > 0) };
}

async function scan(store: Log, tenant: string, { after, wanted, limit }: LogQuery) {
  const page = Math.min(500, Math.max(50, limit));
  const events: EventRow[] = [];
  let looked = after.get(tenant) ?? 0;
  for (let rows = 0; rows < MOST_LOOKED_AT; rows += page) {
    const { items, next } = await store.listEvents({
      tenant,
      order: "oldest",
      cursor: looked,
      limit: page,
    });
    for (const [at, event] of items.entries()) {
      looked = event.seq;
      if (!isWanted(event, wanted)) continue;
      events.push(event);
      if (events.length === limit)
        return { events, looked, more: next !== null || at < items.length - 1 };
    }
    if (next === null) return { events, looked, more: false };
  }
  return { events, looked, more: true };
}

export interface Start {
  from: Cursor;
  /** Something between the cursor and what follows is gone, or was not wanted for its age. */
  truncated: boolean;
  logId: string;
}

/** Where a reader begins that gives this cursor; without one, now. */
export async function findStart(
  store: Log & Pick<Store, "getLogId">,
  tenants: readonly string[],
  given: string | null,
  notBefore: number | undefined,
): Promise<Start> {
  const logId = await store.getLogId();
  const places = given === null ? new Map<string, number>() : decodeCursor(given, tenants, logId);
  if (!places) throw new RequestError("invalid", "cursor", "is not one that this hub gave out");
  const starts = await Promise.all(
    tenants.map(async (tenant) => {
      const { seq, pruned_seq } = (await store.getTenant(tenant)) ?? { seq: 0, pruned_seq: 0 };
      const place = places.get(tenant);
      if (place === undefined) return { tenant, from: seq, truncated: false };
      // The log was wiped, is another, or comes from a backup.
      if (place > seq) return { tenant, from: seq, truncated: true };
      const from =
        notBefore === undefined ? place : await skipOlder(store, tenant, place, seq, notBefore);
      return { tenant, from, truncated: place < pruned_seq || from > place };
    }),
  );
  return {
    from: new Map(starts.map(({ tenant, from }) => [tenant, from])),
    truncated: starts.some(({ truncated }) => truncated),
    logId,
  };
}

/** By halving: times grow with places, but for what replicas' clocks differ by. */
async function skipOlder(
  store: Log,
  tenant: string,
  from: number,
  to: number,
  notBefore: number,
): Promise<number> {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const { items } = await store.listEvents({ tenant, order: "oldest", cursor: middle, limit: 1 });
    const [next] = items;
    if (!next || next.received_at >= notBefore) high = middle;
    else low = next.seq;
  }
  return low;
}
