/**
 * The inbox of all tenants that a caller can access. Reads query all of these tenants and merge the
 * results by time; writes change the tenant of the event. Invalid requests throw a `RequestError`, which
 * the API and the MCP servers return to the client. The returned views are defined in event-view.ts.
 */

import type { EventSummary, InboxStatus, StoredEvent } from "@signalbox/contract/events.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import type { ReserveBytes } from "../../kernel/http/byte-budgets.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { isId } from "../../kernel/lib/ids.ts";
import { largestFitting } from "../../kernel/lib/largest-fitting.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { yieldToEventLoop } from "../../kernel/lib/yield-to-event-loop.ts";
import type { Page } from "../../kernel/store/verb.ts";
import type { Store } from "../../store.ts";
import type { EventQuery, EventRow } from "../model.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import {
  eventView,
  itemView,
  type JsonBody,
  serializeEvent,
  serializeEvents,
  statusView,
  summaryView,
} from "./event-view.ts";
import { createInboxChanges, notFound, oldestFirst } from "./inbox-changes.ts";
import { createLargeReads } from "./large-reads.ts";
import { createPayloadReader, type PayloadPart } from "./payload-reader.ts";

/** The maximum number of queries for one page of a search. Each query scans a part of the log. */
export const MAX_SCANS = 10;
/** The maximum size of the payloads in one page of whole events. A page has at least one event of any size. */
const PAGE_BYTES = 8 * 1024 * 1024;
/** The maximum size of the payload in an `EventPart`. */
export const MAX_PART_BYTES = LARGE_BYTES;

export interface ListOptions {
  limit: number;
  cursor?: string | undefined;
  order?: "newest" | "oldest" | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
  origin?: string | undefined;
  pending?: boolean | undefined;
  /** Returns only events that can be claimed now. */
  claimable?: boolean | undefined;
  /** The maximum number of queries, if a filter has no index. By default, the whole log is scanned. */
  maxScans?: number | undefined;
}

export interface SearchOptions {
  limit: number;
  cursor?: string | undefined;
  text?: string | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  origin?: string | undefined;
  status?: EventRow["trigger_status"] | undefined;
  from?: number | undefined;
  to?: number | undefined;
  processed?: boolean | undefined;
}

export interface EventPage<Item> {
  events: Item[];
  next_cursor: string | null;
}

/** Limits a page by the size of the response in which it is sent. Later events are on the next page. */
export interface PageBudget<Item> {
  maxBytes: number;
  sizeOf(page: EventPage<Item>): number;
}

/** Events of several logs, in their order. */
interface MergedLogs {
  events: EventRow[];
  /** The cursor after the first `count` events. */
  cursorAfter(count: number): string | null;
}

/** An event whose payload may be one of its values (at `path`), or a slice of its JSON. */
export type EventPart = StoredEvent & PayloadPart;

/** An event part, and its JSON text. */
export interface SerializedPart {
  event: EventPart;
  json: string;
}

export interface PartOptions {
  path?: string | undefined;
  offset?: number | undefined;
  /** Default and maximum: `MAX_PART_BYTES`. */
  maxBytes?: number | undefined;
}

export interface InboxOptions {
  store: Store;
  now: () => number;
  /** Reads values of large payloads. */
  runJob: RunJob;
  /** Like `Math.random`. */
  random?: () => number;
}

export type Inbox = ReturnType<typeof createInbox>;

export function createInbox({ store, now, runJob, random = Math.random }: InboxOptions) {
  const largeReads = createLargeReads();
  const payloads = createPayloadReader({ store, runJob, largeReads });

  /**
   * Merges the logs of several tenants: reads a whole page of each log, and returns the first events of
   * all pages, up to `limit`.
   */
  async function mergeLogs(
    tenants: readonly string[],
    cursor: string | undefined,
    limit: number,
    isNewestFirst: boolean,
    readPage: (tenant: string, seq: number | undefined) => Promise<Page<EventRow>>,
  ): Promise<MergedLogs> {
    const start = cursor === undefined ? new Map<string, number>() : decodeCursor(cursor, tenants);
    if (!start) throw new RequestError("invalid", "cursor", "is not a cursor of this hub");
    const pages = await Promise.all(
      tenants.map(async (tenant) => ({ tenant, page: await readPage(tenant, start.get(tenant)) })),
    );
    const direction = isNewestFirst ? -1 : 1;
    const merged = pages
      .flatMap(({ page }) => page.items)
      .sort((a, b) => direction * oldestFirst(a, b))
      .slice(0, limit);
    return {
      events: merged,
      cursorAfter(count) {
        const events = merged.slice(0, count);
        const next = new Map(start);
        let hasMore = false;
        for (const { tenant, page } of pages) {
          const returned = events.filter((event) => event.tenant === tenant);
          const isWholePage = returned.length === page.items.length;
          // The position after a whole page is `page.next`: the query may have scanned further events.
          const seq = (isWholePage ? page.next : null) ?? returned.at(-1)?.seq;
          if (seq !== undefined) next.set(tenant, seq);
          if (page.next !== null || !isWholePage) hasMore = true;
        }
        return hasMore ? encodeCursor(next, tenants) : null;
      },
    };
  }

  async function find(tenants: readonly string[], id: string, field: string): Promise<EventRow> {
    if (!isId(id)) throw new RequestError("invalid", field, "is not the id of an event (a UUID)");
    const results = await Promise.all(tenants.map((tenant) => store.getEvent(tenant, id)));
    const event = results.find((result) => result !== undefined);
    if (!event) throw notFound(id, field);
    return event;
  }

  /**
   * Fills a page. One query may find too few events: it scans only a part of the log if a filter has no
   * index.
   */
  async function readFullPage(query: EventQuery, maxScans: number): Promise<Page<EventRow>> {
    const page = await store.listEvents(query);
    const { items } = page;
    for (let scans = 1; scans < maxScans; scans += 1) {
      if (page.next === null || items.length >= query.limit) break;
      await yieldToEventLoop();
      const limit = query.limit - items.length;
      const more = await store.listEvents({ ...query, limit, cursor: page.next });
      items.push(...more.items);
      page.next = more.next;
    }
    return page;
  }

  const listLogs = (tenants: readonly string[], options: ListOptions) => {
    const {
      limit,
      cursor,
      order = "newest",
      claimable,
      maxScans = Number.POSITIVE_INFINITY,
      ...filter
    } = options;
    const claimableAt = claimable ? now() : undefined;
    return mergeLogs(tenants, cursor, limit, order === "newest", (tenant, seq) =>
      readFullPage({ tenant, limit, order, cursor: seq, claimableAt, ...filter }, maxScans),
    );
  };
  const list = async (tenants: readonly string[], options: ListOptions) =>
    wholePage(await listLogs(tenants, options));

  const serializeWhole = async (event: EventRow): Promise<JsonBody> =>
    serializeEvent(eventView(event, null), await payloads.json(event));

  const readPart = async (
    event: EventRow,
    { path, offset = 0, maxBytes = MAX_PART_BYTES }: PartOptions,
    fields: StoredEvent = eventView(event, null),
  ): Promise<SerializedPart> => {
    const limit = Math.min(maxBytes, MAX_PART_BYTES);
    const { json, ...part } = await payloads.part(event, { path, offset, maxBytes: limit });
    const view = { ...fields, ...part };
    return { event: view, json: json ? `${serializeEvent(view, json)}` : JSON.stringify(view) };
  };

  const searchLogs = (tenants: readonly string[], { cursor, ...query }: SearchOptions) =>
    mergeLogs(tenants, cursor, query.limit, true, (tenant, seq) =>
      store.searchEvents({ tenant, cursor: seq, ...query }),
    );
  const search = async (tenants: readonly string[], options: SearchOptions) =>
    wholePage(await searchLogs(tenants, options));

  return {
    async status(tenants: readonly string[]): Promise<InboxStatus> {
      const statuses = await Promise.all(tenants.map((tenant) => store.pendingStatus(tenant)));
      const types = new Map<string, number>(); // a Map, since senders can invent types such as `__proto__`
      let total = 0;
      let latest: number | null = null;
      for (const status of statuses) {
        total += status.pending_count;
        const { latest_received_at } = status;
        if (latest_received_at !== null) latest = Math.max(latest ?? 0, latest_received_at);
        for (const [type, count] of Object.entries(status.types))
          types.set(type, (types.get(type) ?? 0) + count);
      }
      return statusView({
        pending_count: total,
        latest_received_at: latest,
        types: Object.fromEntries(mostFrequent(types)),
      });
    },

    async listSummaries(
      tenants: readonly string[],
      options: ListOptions,
      reserveBytes?: ReserveBytes,
      budget?: PageBudget<EventSummary>,
    ): Promise<EventPage<EventSummary>> {
      return summariesOf(await listLogs(tenants, options), reserveBytes, budget);
    },

    /** Returns the JSON of an array of whole events. */
    async listEvents(
      tenants: readonly string[],
      options: ListOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<{ json: JsonBody; next_cursor: string | null }> {
      const { events, next_cursor } = withinBytes(await listLogs(tenants, options), PAGE_BYTES);
      await reserveBytes?.(sizeOf(events));
      return { json: serializeEvents(await Promise.all(events.map(serializeWhole))), next_cursor };
    },

    /** For agents: returns a page within the budget. Only the payload of a single event is truncated. */
    async listParts(
      tenants: readonly string[],
      options: ListOptions,
      reserveBytes: ReserveBytes,
      budget: PageBudget<EventPart>,
    ): Promise<EventPage<EventPart>> {
      const logs = await listLogs(tenants, options);
      // No longer part fits, because a result contains it twice.
      const maxPart = Math.min(budget.maxBytes, MAX_PART_BYTES);
      const { events } = withinBytes(logs, maxPart);
      await reserveBytes(sizeOf(events));
      const read = async (event: EventRow, maxBytes: number) =>
        (await readPart(event, { maxBytes })).event;
      const parts = await Promise.all(events.map((event) => read(event, maxPart)));
      const truncated = parts.findIndex((part) => part.truncated);
      const whole = truncated === -1 ? parts : parts.slice(0, Math.max(1, truncated));
      const page = fitPage(logs, whole, budget);
      const [event] = events;
      if (!event || page.events.length > 1) return page;
      let maxBytes = Math.min(maxPart, utf8(JSON.stringify(page.events[0]?.payload)).byteLength);
      for (let size = budget.sizeOf(page); size > budget.maxBytes; size = budget.sizeOf(page)) {
        if (maxBytes <= 1) break;
        maxBytes = Math.floor(maxBytes * Math.min(0.9, budget.maxBytes / size));
        page.events = [await read(event, Math.max(1, maxBytes))];
      }
      return page;
    },

    async search(
      tenants: readonly string[],
      options: SearchOptions,
      reserveBytes?: ReserveBytes,
      budget?: PageBudget<EventSummary>,
    ): Promise<EventPage<EventSummary>> {
      return summariesOf(await searchLogs(tenants, options), reserveBytes, budget);
    },

    list,

    /** Like `search`, but scans further parts of the log until it finds an event, at most `MAX_SCANS`. */
    async searchFurther(
      tenants: readonly string[],
      options: SearchOptions,
    ): Promise<EventPage<EventRow>> {
      let page = await search(tenants, options);
      for (let scans = 1; scans < MAX_SCANS && page.next_cursor !== null; scans += 1) {
        if (page.events.length > 0) break;
        await yieldToEventLoop();
        page = await search(tenants, { ...options, cursor: page.next_cursor });
      }
      return page;
    },

    /** Returns the JSON of the whole event. */
    async get(
      tenants: readonly string[],
      id: string,
      field: string,
      reserveBytes?: ReserveBytes,
    ): Promise<JsonBody> {
      const event = await find(tenants, id, field);
      await reserveBytes?.(event.size);
      return serializeWhole(event);
    },

    /** For the web UI: returns the whole event, or a part of it, with the fields of an item in a list. */
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
      return (await readPart(event, options, fields)).json;
    },

    /** For agents: returns the event with a part of its payload. */
    async getPart(
      tenants: readonly string[],
      id: string,
      options: PartOptions,
      reserveBytes?: ReserveBytes,
    ): Promise<SerializedPart> {
      const event = await find(tenants, id, "event_id");
      await reserveBytes?.(event.size);
      return readPart(event, options);
    },

    ...createInboxChanges({ store, now, random, find, payloads }),

    find,

    openPayload: payloads.open,
    largeReads,

    async getHeaders(event: EventRow) {
      const { tenant, seq, size } = event;
      // An empty slice has the headers. A compressed payload cannot be sliced.
      const stored =
        (await store.slicePayload(tenant, seq, 0, 0)) ??
        (await largeReads(event, () => store.getPayload(tenant, seq)));
      const { content_type = "", headers = {} } = stored ?? {};
      return { content_type, headers, size };
    },
  };
}

/** The store returns at most the same number for each tenant. */
const MAX_STATUS_TYPES = 1_000;

const mostFrequent = (types: ReadonlyMap<string, number>): Iterable<[string, number]> =>
  types.size <= MAX_STATUS_TYPES
    ? types
    : [...types].sort(([, a], [, b]) => b - a).slice(0, MAX_STATUS_TYPES);

const sizeOf = (events: readonly EventRow[]): number =>
  events.reduce((sum, { size }) => sum + size, 0);

async function summariesOf(
  logs: MergedLogs,
  reserveBytes: ReserveBytes | undefined,
  budget: PageBudget<EventSummary> | undefined,
): Promise<EventPage<EventSummary>> {
  await reserveBytes?.(logs.events.reduce((sum, event) => sum + summaryBytes(event), 0));
  return fitPage(logs, logs.events.map(summaryView), budget);
}

const wholePage = ({ events, cursorAfter }: MergedLogs): EventPage<EventRow> => ({
  events,
  next_cursor: cursorAfter(events.length),
});

/** Returns the first events whose payloads have at most `maxBytes`, at least one. */
function withinBytes({ events, cursorAfter }: MergedLogs, maxBytes: number): EventPage<EventRow> {
  const count = largestFitting(events.length, (n) => sizeOf(events.slice(0, n)) <= maxBytes);
  return { events: events.slice(0, count), next_cursor: cursorAfter(count) };
}

/** Returns as many of the first events as fit, at least one. `views`: the first of `logs.events`. */
function fitPage<Item>(
  { cursorAfter }: MergedLogs,
  views: readonly Item[],
  budget: PageBudget<Item> | undefined,
): EventPage<Item> {
  const pageOf = (count: number) => ({
    events: views.slice(0, count),
    next_cursor: cursorAfter(count),
  });
  const fits = (count: number) => !budget || budget.sizeOf(pageOf(count)) <= budget.maxBytes;
  return pageOf(largestFitting(views.length, fits));
}

/** Estimates the size of a summary in a response. Tools return each summary twice, as text and as structured content. */
const summaryBytes = ({ type, repo, sender, title, url }: EventRow): number =>
  2 * [type, repo, sender, title, url].reduce((sum, text) => sum + (text?.length ?? 0), 400);
