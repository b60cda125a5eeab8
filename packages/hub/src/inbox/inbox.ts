/**
 * The inbox of all tenants that a caller can access. Reads query all of them and merge the results by
 * time; writes go to the tenant of the event. Invalid requests throw a `RequestError`, which HTTP
 * and MCP report. The returned views are defined in event-view.ts.
 */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import type { PayloadPart } from "@signalbox/rules/match/payload-part.ts";
import { isId } from "../lib/ids.ts";
import { RequestError } from "../lib/request-error.ts";
import { yieldToEventLoop } from "../lib/yield-to-event-loop.ts";
import type { EventQuery, EventRow, Page, Store } from "../store/store.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import {
  claimedView,
  type EventView,
  eventView,
  itemView,
  type JsonBody,
  type StatusView,
  type SummaryView,
  serializeEvent,
  serializeEvents,
  statusView,
  summaryView,
} from "./event-view.ts";
import { createLargeReads } from "./large-reads.ts";
import { createPayloadReader } from "./payload-reader.ts";
import type { ReserveBytes } from "./response-budget.ts";

/** The parts of the log that one request reads to find events; see `searchEvents`. */
export const MAX_PARTS = 10;
/** The payloads of one page of whole events. A page has at least one event, whatever its size. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** The payload in a part of an event, and the payloads of one page of parts. */
export const MAX_PART_BYTES = LARGE_BYTES;

export interface ListOptions {
  limit: number;
  cursor?: string | undefined;
  order?: "newest" | "oldest" | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
  sender?: string | undefined;
  pending?: boolean | undefined;
  /** Only events that can be claimed now. */
  claimable?: boolean | undefined;
  /** The parts of the log that are read, if a filter has no index. By default, all. */
  maxParts?: number | undefined;
}

export interface SearchOptions {
  limit: number;
  cursor?: string | undefined;
  text?: string | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  sender?: string | undefined;
  status?: EventRow["trigger_status"] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  processed?: boolean | undefined;
}

export interface EventPage<Item> {
  events: Item[];
  next_cursor: string | null;
}

/** An event whose payload may be a part, or a slice of its JSON. */
export type EventPart = EventView & PayloadPart;

/** An event and its JSON text. */
export interface FoundEvent {
  event: EventPart;
  json: string;
}

export interface PartOptions {
  path?: string | undefined;
  offset?: number | undefined;
  /** At most, and by default, `MAX_PART_BYTES`. */
  maxBytes?: number | undefined;
}

export interface InboxOptions {
  store: Store;
  now: () => number;
  /** Reads parts of large payloads. */
  evaluate: Evaluate;
  /** Like `Math.random`. */
  random?: () => number;
}

export type Inbox = ReturnType<typeof createInbox>;

export function createInbox({ store, now, evaluate, random = Math.random }: InboxOptions) {
  const largeReads = createLargeReads();
  const payloads = createPayloadReader({ store, evaluate, largeReads });

  /** Merges the logs of several tenants: reads a whole page of each, and returns the first events. */
  async function merge(
    tenants: readonly string[],
    cursor: string | undefined,
    limit: number,
    newestFirst: boolean,
    readPage: (tenant: string, seq: number | undefined) => Promise<Page<EventRow>>,
    maxBytes = Number.POSITIVE_INFINITY,
  ): Promise<EventPage<EventRow>> {
    const from = cursor === undefined ? new Map<string, number>() : decodeCursor(cursor, tenants);
    if (!from) throw new RequestError("invalid", "cursor", "is not a cursor of this hub");
    const pages = await Promise.all(
      tenants.map(async (tenant) => ({ tenant, page: await readPage(tenant, from.get(tenant)) })),
    );
    const direction = newestFirst ? -1 : 1;
    const sorted = pages
      .flatMap(({ page }) => page.items)
      .sort((a, b) => direction * oldestFirst(a, b))
      .slice(0, limit);
    let bytes = 0;
    const overflow = sorted.findIndex(({ size }, at) => {
      bytes += size;
      return at > 0 && bytes > maxBytes;
    });
    const events = overflow === -1 ? sorted : sorted.slice(0, overflow);
    const reached = new Map(from);
    for (const { tenant, page } of pages) {
      const taken = events.filter((event) => event.tenant === tenant);
      const whole = taken.length === page.items.length;
      const last = whole ? (page.next ?? taken.at(-1)?.seq) : taken.at(-1)?.seq;
      if (last !== undefined) reached.set(tenant, last);
    }
    const more = pages.some(
      ({ tenant, page }) =>
        page.next !== null ||
        page.items.length > events.filter((event) => event.tenant === tenant).length,
    );
    return { events, next_cursor: more ? encodeCursor(reached, tenants) : null };
  }

  async function find(tenants: readonly string[], id: string, field: string): Promise<EventRow> {
    if (!isId(id)) throw new RequestError("invalid", field, "is not the id of an event (a UUID)");
    const found = await Promise.all(tenants.map((tenant) => store.getEvent(tenant, id)));
    const event = found.find((one) => one !== undefined);
    if (!event) throw notFound(id, field);
    return event;
  }

  /** Reads further parts of the log until the page is full: a filter may match few events. */
  async function fullPage(query: EventQuery, maxParts: number): Promise<Page<EventRow>> {
    const page = await store.listEvents(query);
    const { items } = page;
    for (let parts = 1; parts < maxParts; parts += 1) {
      if (page.next === null || items.length >= query.limit) break;
      await yieldToEventLoop();
      const limit = query.limit - items.length;
      const more = await store.listEvents({ ...query, limit, cursor: page.next });
      items.push(...more.items);
      page.next = more.next;
    }
    return page;
  }

  const list = (tenants: readonly string[], options: ListOptions, maxBytes?: number) => {
    const {
      limit,
      cursor,
      order = "newest",
      claimable,
      maxParts = Number.POSITIVE_INFINITY,
      ...filter
    } = options;
    const claimableAt = claimable ? now() : undefined;
    return merge(
      tenants,
      cursor,
      limit,
      order === "newest",
      (tenant, seq) =>
        fullPage({ tenant, limit, order, cursor: seq, claimableAt, ...filter }, maxParts),
      maxBytes,
    );
  };

  const wholeEvent = async (event: EventRow): Promise<JsonBody> =>
    serializeEvent(eventView(event, null), await payloads.json(event));

  const partOf = async (
    event: EventRow,
    { path, offset = 0, maxBytes = MAX_PART_BYTES }: PartOptions,
    fields: EventView = eventView(event, null),
  ): Promise<FoundEvent> => {
    const limit = Math.min(maxBytes, MAX_PART_BYTES);
    const { json, ...part } = await payloads.part(event, { path, offset, maxBytes: limit });
    const view = { ...fields, ...part };
    return { event: view, json: json ? `${serializeEvent(view, json)}` : JSON.stringify(view) };
  };

  const search = (tenants: readonly string[], { cursor, ...query }: SearchOptions) =>
    merge(tenants, cursor, query.limit, true, (tenant, seq) =>
      store.searchEvents({ tenant, cursor: seq, ...query }),
    );

  return {
    async status(tenants: readonly string[]): Promise<StatusView> {
      const all = await Promise.all(tenants.map((tenant) => store.pendingStatus(tenant)));
      const types = new Map<string, number>(); // a Map, since senders can invent types such as `__proto__`
      let count = 0;
      let latest: number | null = null;
      for (const one of all) {
        count += one.pending_count;
        if (one.latest_received_at !== null) latest = Math.max(latest ?? 0, one.latest_received_at);
        for (const [type, number] of Object.entries(one.types))
          types.set(type, (types.get(type) ?? 0) + number);
      }
      return statusView({
        pending_count: count,
        latest_received_at: latest,
        types: Object.fromEntries(mostFrequent(types)),
      });
    },

    async listSummaries(
      tenants: readonly string[],
      options: ListOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<EventPage<SummaryView>> {
      return summariesOf(await list(tenants, options), reserveBytes);
    },

    /** An array of whole events. */
    async listEvents(
      tenants: readonly string[],
      options: ListOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<{ json: JsonBody; next_cursor: string | null }> {
      const { events, next_cursor } = await list(tenants, options, PAGE_BYTES);
      await reserveBytes?.(sizeOf(events));
      return { json: serializeEvents(await Promise.all(events.map(wholeEvent))), next_cursor };
    },

    /** For agents: a small page, in which a larger payload is truncated. */
    async listParts(
      tenants: readonly string[],
      options: ListOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<EventPage<EventPart>> {
      const { events, next_cursor } = await list(tenants, options, MAX_PART_BYTES);
      await reserveBytes?.(sizeOf(events));
      const parts = await Promise.all(events.map((event) => partOf(event, {})));
      return { events: parts.map(({ event }) => event), next_cursor };
    },

    async search(
      tenants: readonly string[],
      options: SearchOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<EventPage<SummaryView>> {
      return summariesOf(await search(tenants, options), reserveBytes);
    },

    list,

    /** Like `search`, but reads further parts of the log while it has found nothing. */
    async searchFurther(
      tenants: readonly string[],
      options: SearchOptions,
    ): Promise<EventPage<EventRow>> {
      let page = await search(tenants, options);
      for (let parts = 1; parts < MAX_PARTS && page.next_cursor !== null; parts += 1) {
        if (page.events.length > 0) break;
        await yieldToEventLoop();
        page = await search(tenants, { ...options, cursor: page.next_cursor });
      }
      return page;
    },

    /** The whole event, as JSON. */
    async get(
      tenants: readonly string[],
      id: string,
      field: string,
      reserveBytes?: ReserveBytes,
    ): Promise<JsonBody> {
      const event = await find(tenants, id, field);
      await reserveBytes?.(event.size);
      return wholeEvent(event);
    },

    /** For pages: the whole event, or a part of it, with the fields of an item in a list. */
    async getItem(
      tenants: readonly string[],
      id: string,
      options: PartOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<JsonBody> {
      const event = await find(tenants, id, "event_id");
      await reserveBytes?.(event.size);
      const fields = { ...eventView(event, null), ...itemView(event) };
      const { path, offset, maxBytes = event.size } = options;
      const isWhole = path === undefined && offset === undefined && event.size <= maxBytes;
      if (isWhole) return serializeEvent(fields, await payloads.json(event));
      return (await partOf(event, options, fields)).json;
    },

    /** For agents: the event with a part of its payload. */
    async getPart(
      tenants: readonly string[],
      id: string,
      options: PartOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<FoundEvent> {
      const event = await find(tenants, id, "event_id");
      await reserveBytes?.(event.size);
      return partOf(event, options);
    },

    /** Throws if an id is unknown; then no event is marked. */
    async markProcessed(
      tenants: readonly string[],
      ids: readonly string[],
      note: string | null,
    ): Promise<{ marked: string[]; alreadyProcessed: string[] }> {
      const owners = await Promise.all(ids.map((id) => find(tenants, id, "event_id")));
      const marked: string[] = [];
      const alreadyProcessed: string[] = [];
      for (const [tenant, events] of Map.groupBy(owners, (event) => event.tenant)) {
        const own = [...new Set(events.map((event) => event.id))];
        const done = await store.markProcessed(tenant, own, now(), note);
        marked.push(...done.marked);
        alreadyProcessed.push(...done.alreadyProcessed);
      }
      return { marked, alreadyProcessed };
    },

    /** Like `markProcessed`, but reports unknown ids. */
    markKnown: (tenant: string, ids: readonly string[], note: string | null) =>
      store.markProcessed(tenant, [...ids], now(), note),

    /** Makes processed events pending again. */
    reopen: (tenant: string, ids: readonly string[]) => store.reopenEvents(tenant, ids),

    /** Claims an equal share of each tenant, so that a large backlog does not block the others. */
    async claim(
      tenants: readonly string[],
      by: string,
      { limit, leaseMs, type }: { limit: number; leaseMs: number; type?: string | undefined },
    ): Promise<EventRow[]> {
      const claimed: EventRow[] = [];
      const at = now();
      // Starts with a random tenant: otherwise single claims would always serve the first one.
      const start = Math.floor(random() * tenants.length);
      let remaining = [...tenants.slice(start), ...tenants.slice(0, start)];
      while (remaining.length > 0 && claimed.length < limit) {
        const share = Math.ceil((limit - claimed.length) / remaining.length);
        const more: string[] = [];
        for (const tenant of remaining) {
          const max = Math.min(share, limit - claimed.length);
          if (max === 0) break;
          const until = at + leaseMs;
          const own = await store.claimEvents({ tenant, by, limit: max, now: at, until, type });
          claimed.push(...own);
          if (own.length === max) more.push(tenant);
        }
        remaining = more;
      }
      return claimed.sort(oldestFirst);
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
      if (!applied) throw new RequestError("changed", "event_id", whyNotClaimable(event));
      if (!payload) {
        const { payload: _, ...view } = claimedView(event, null);
        return JSON.stringify(view);
      }
      return serializeEvent(claimedView(event, null), await payloads.json(event));
    },

    /** Marks an event that `by` has claimed. Returns whether it was already processed. */
    async markClaimed(
      tenants: readonly string[],
      by: string,
      id: string,
      note: string | null,
    ): Promise<{ already: boolean }> {
      const { tenant } = await find(tenants, id, "event_id");
      const result = await store.markClaimed(tenant, id, by, now(), note);
      if (!result) throw notFound(id);
      const { applied, event } = result;
      if (!applied && !event.processed)
        throw new RequestError("changed", "event_id", notClaimed(by));
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
          event.processed ? "is already processed" : notClaimed(by),
        );
    },

    find,

    openPayload: payloads.open,
    largeReads,

    async headers(event: EventRow) {
      const { tenant, seq, size } = event;
      const stored =
        (await store.slicePayload(tenant, seq, 0, 0)) ??
        (await largeReads(event, () => store.getPayload(tenant, seq)));
      const { content_type = "", headers = {} } = stored ?? {};
      return { content_type, headers, size };
    },
  };
}

/** Of each tenant, the store returns as many. */
const MAX_STATUS_TYPES = 1_000;

const mostFrequent = (types: ReadonlyMap<string, number>): Iterable<[string, number]> =>
  types.size <= MAX_STATUS_TYPES
    ? types
    : [...types].sort(([, a], [, b]) => b - a).slice(0, MAX_STATUS_TYPES);

const sizeOf = (events: readonly EventRow[]): number =>
  events.reduce((sum, { size }) => sum + size, 0);

/** The owner of a claim is `TOKEN` or `TOKEN/WORKER`. */
const notClaimed = (by: string) =>
  `is not claimed by this ${by.includes("/") ? "worker" : "token"}`;

const notFound = (id: string, field = "event_id") =>
  new RequestError("not_found", field, `there is no event ${id}`);

function whyNotClaimable({ processed, claimed_by, claimed_until }: EventRow): string {
  if (processed) return "is already processed";
  const until = new Date(claimed_until ?? 0).toISOString();
  return claimed_by === null
    ? `was released with a delay: it cannot be claimed before ${until}`
    : `is claimed by ${claimed_by} until ${until}`;
}

/** Compares events of one log by `seq`, since the clocks of replicas differ. */
const oldestFirst = (a: EventRow, b: EventRow): number =>
  a.tenant === b.tenant ? a.seq - b.seq : a.received_at - b.received_at || (a.id < b.id ? -1 : 1);

async function summariesOf(
  { events, next_cursor }: EventPage<EventRow>,
  reserveBytes: ReserveBytes | undefined,
): Promise<EventPage<SummaryView>> {
  await reserveBytes?.(events.reduce((sum, event) => sum + summaryBytes(event), 0));
  return { events: events.map(summaryView), next_cursor };
}

/** An estimate. Tools return each summary twice, as text and as structured content. */
const summaryBytes = ({ type, repo, sender, title, url }: EventRow): number =>
  2 * [type, repo, sender, title, url].reduce((sum, text) => sum + (text?.length ?? 0), 400);
