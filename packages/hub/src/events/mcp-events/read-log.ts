/**
 * Reads matching events after a cursor from the logs of several tenants, oldest first. One call scans
 * a limited number of rows. If matches are rare, a call may find none and still advance the cursor.
 */

import { utf8 } from "../../kernel/lib/bytes.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import { type Cursor, decodeCursor, predatesFailover } from "../inbox/cursor.ts";
import type { EventRow } from "../model.ts";
import { readPayload } from "../sources/read-payload.ts";
import { type EventFilter, eventName, matchesFilter } from "./event-types.ts";
import { MAX_BODY_BYTES, type Occurrence } from "./protocol.ts";

type Log = Pick<Store, "getTenant" | "listEvents">;

/** The maximum number of rows that one call reads from each log. */
const MAX_SCANNED = 5_000;

interface LogQuery {
  tenants: readonly string[];
  after: Cursor;
  filter: EventFilter;
  limit: number;
  /** Ends the page early when its payloads exceed this size. */
  maxBytes?: number;
}

interface LogPage {
  /** Each event with the cursor after it. */
  matches: { event: EventRow; cursor: Cursor }[];
  /** The cursor from which the next page continues. */
  end: Cursor;
  hasMore: boolean;
}

export async function readLog(store: Log, query: LogQuery): Promise<LogPage> {
  const { tenants, after, limit, maxBytes = Number.POSITIVE_INFINITY } = query;
  const logs = await Promise.all(
    tenants.map(async (tenant) => ({ tenant, ...(await scan(store, tenant, query)) })),
  );
  const matches: LogPage["matches"] = [];
  let cursor = after;
  let bytes = 0;
  for (;;) {
    const next = logs
      .filter(({ events }) => events.length > 0)
      .reduce<(typeof logs)[number] | undefined>(
        (oldest, log) =>
          oldest &&
          (oldest.events[0] as EventRow).received_at <= (log.events[0] as EventRow).received_at
            ? oldest
            : log,
        undefined,
      );
    const event = next?.events[0];
    if (!next || !event || matches.length === limit) break;
    bytes += event.size;
    if (matches.length > 0 && bytes > maxBytes) break;
    next.events.shift();
    cursor = new Map(cursor).set(next.tenant, event.seq);
    matches.push({ event, cursor });
  }
  const end = new Map(cursor);
  for (const { tenant, events, scanned } of logs)
    end.set(tenant, events[0] ? events[0].seq - 1 : scanned);
  const hasMore = logs.some((log) => log.hasMore || log.events.length > 0);
  return { matches, end, hasMore };
}

/** Finds the matching events of one log. `scanned` is the `seq` of the last row that was read. */
async function scan(store: Log, tenant: string, { after, filter, limit }: LogQuery) {
  const pageSize = Math.min(500, Math.max(50, limit));
  const events: EventRow[] = [];
  let scanned = after.get(tenant) ?? 0;
  for (let rows = 0; rows < MAX_SCANNED; rows += pageSize) {
    const { items, next } = await store.listEvents({
      tenant,
      order: "oldest",
      cursor: scanned,
      limit: pageSize,
    });
    for (const [index, event] of items.entries()) {
      scanned = event.seq;
      if (!matchesFilter(event, filter)) continue;
      events.push(event);
      if (events.length === limit)
        return { events, scanned, hasMore: next !== null || index < items.length - 1 };
    }
    if (next === null) return { events, scanned, hasMore: false };
  }
  return { events, scanned, hasMore: true };
}

interface LogStart {
  from: Cursor;
  /**
   * Whether events after the cursor were removed or are too old, the cursor is ahead of the log, or the
   * database has failed over since.
   */
  truncated: boolean;
  logId: string;
}

/** Starts at the cursor, or at the end of the log if it is null. Skips events before `notBefore`. */
export async function findStart(
  store: Log & Pick<Store, "getLogId">,
  tenants: readonly string[],
  cursor: string | null,
  notBefore: number | undefined,
): Promise<LogStart> {
  const logId = await store.getLogId();
  const positions =
    cursor === null ? new Map<string, number>() : decodeCursor(cursor, tenants, logId);
  if (!positions) throw new RequestError("invalid", "cursor", "is not a cursor of this hub");
  const hasFailedOver = cursor !== null && predatesFailover(cursor, logId);
  const starts = await Promise.all(
    tenants.map(async (tenant) => {
      const { seq, pruned_seq } = (await store.getTenant(tenant)) ?? { seq: 0, pruned_seq: 0 };
      const position = positions.get(tenant);
      if (position === undefined) return { tenant, from: seq, truncated: false };
      // The database was wiped, replaced or restored from a backup.
      if (position > seq) return { tenant, from: seq, truncated: true };
      const from =
        notBefore === undefined
          ? position
          : await skipOlder(store, tenant, position, seq, notBefore);
      return { tenant, from, truncated: position < pruned_seq || from > position };
    }),
  );
  return {
    from: new Map(starts.map(({ tenant, from }) => [tenant, from])),
    truncated: hasFailedOver || starts.some(({ truncated }) => truncated),
    logId,
  };
}

/** A binary search is possible because `received_at` grows with `seq`, except for clock skew. */
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

/**
 * Converts an event to the format that all subscribers get. Includes the payload unless the occurrence
 * would exceed the size limit of a webhook.
 */
export async function toOccurrence(
  store: Pick<Store, "getPayload">,
  event: EventRow,
  cursor: string,
): Promise<Occurrence> {
  const withoutPayload: Occurrence = {
    eventId: eventIdOf(event),
    name: eventName(event),
    timestamp: new Date(event.received_at).toISOString(),
    data: {
      event_id: event.id,
      seq: event.seq,
      source: event.source,
      type: event.type,
      received_at: new Date(event.received_at).toISOString(),
      action: event.action,
      repo: event.repo,
      sender: event.sender,
      number: event.number,
      title: event.title,
      url: event.url,
      ...event.check_result,
    },
    cursor,
  };
  const stored =
    event.size <= MAX_BODY_BYTES ? await store.getPayload(event.tenant, event.seq) : undefined;
  if (stored) {
    const payload = readPayload(event.source, stored);
    const withPayload = { ...withoutPayload, data: { ...withoutPayload.data, payload } };
    if (utf8(JSON.stringify(withPayload)).byteLength <= MAX_BODY_BYTES) return withPayload;
  }
  return { ...withoutPayload, data: { ...withoutPayload.data, payload_omitted: true } };
}

/** The sender's id if it is valid in an HTTP header, else the hub's id. */
const eventIdOf = ({ id, external_id }: EventRow): string =>
  external_id !== null && /^[\x21-\x7e]{1,256}$/.test(external_id) ? external_id : id;
