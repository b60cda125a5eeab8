import { createIds } from "../../lib/ids.ts";
import type {
  AppendRequest,
  AppendResult,
  EventRow,
  NewEvent,
  Page,
  StalePlan,
  Store,
} from "../store.ts";

export const START = Date.UTC(2026, 0, 1);
export const SECOND = 1_000;
export const DAY = 24 * 60 * 60 * SECOND;

let made = 0;

/** An id as the hub would have made it at that moment. */
const idAt = (ms: number): string => createIds({ now: () => ms })();

/** Some event; without an `external_id` of its own it is a delivery like no other. */
export function sampleEvent(given: Partial<NewEvent> = {}): NewEvent {
  made += 1;
  const received_at = given.received_at ?? START;
  return {
    id: idAt(received_at),
    source: "github",
    source_id: "github",
    external_id: `delivery-${made}`,
    type: "issues",
    received_at,
    action: "opened",
    repo: "acme/web",
    sender: "ada",
    number: made,
    title: `The lamp is broken (${made})`,
    url: `https://github.com/acme/web/issues/${made}`,
    content_type: "application/json",
    headers: { "x-github-event": "issues" },
    body: new TextEncoder().encode(JSON.stringify({ made })),
    ...given,
  };
}

/** A list of a few, so that each can be taken out by name. */
export type Few<Count extends number, Item> = Count extends 1
  ? [Item]
  : Count extends 2
    ? [Item, Item]
    : Count extends 3
      ? [Item, Item, Item]
      : Count extends 4
        ? [Item, Item, Item, Item]
        : Item[];

export const sampleEvents = <Count extends number>(
  count: Count,
  given: (at: number) => Partial<NewEvent> = () => ({}),
): Few<Count, NewEvent> =>
  Array.from({ length: count }, (_, at) => sampleEvent(given(at))) as Few<Count, NewEvent>;

/** One of a list, which must have it. */
export function nth<Item>(items: readonly Item[], at: number): Item {
  const item = items.at(at);
  if (item === undefined) throw new Error(`there is no ${at} in ${items.length}`);
  return item;
}

export const arrival = (events: NewEvent[], tenant = "acme"): AppendRequest => ({ tenant, events });

/** Appends one arrival and expects it to be kept; answers with the events' places. */
export async function keep(store: Store, events: NewEvent[], tenant = "acme"): Promise<number[]> {
  const [appended] = await store.appendEvents([arrival(events, tenant)], null);
  return placesOf(appended);
}

export function placesOf(appended: AppendResult | StalePlan | undefined): number[] {
  if (!appended || !("events" in appended))
    throw new Error(`not kept: ${JSON.stringify(appended)}`);
  return appended.events.map(({ seq }) => seq);
}

/** Appends many events, in arrivals of a size that every engine digests quickly. */
export async function keepMany(store: Store, events: NewEvent[], tenant = "acme"): Promise<void> {
  for (let start = 0; start < events.length; start += 500)
    await keep(store, events.slice(start, start + 500), tenant);
}

/** How a stored event is listed, as long as nobody has touched it. */
export function untouched(event: NewEvent, seq: number, tenant = "acme"): EventRow {
  const { content_type, headers, body, ...listed } = event;
  return {
    ...listed,
    tenant,
    seq,
    size: body.byteLength,
    processed: false,
    processed_at: null,
    note: null,
    trigger_status: null,
    last_triggered_at: null,
    outcome: null,
    claimed_by: null,
    claimed_until: null,
  };
}

/** Follows the cursor to the end; answers with every item and with the number of pages. */
export async function walk<Item>(
  page: (cursor: number | undefined) => Promise<Page<Item>>,
): Promise<{ items: Item[]; pages: number }> {
  const items: Item[] = [];
  let cursor: number | undefined;
  for (let pages = 1; pages < 10_000; pages += 1) {
    const { items: more, next } = await page(cursor);
    items.push(...more);
    if (next === null) return { items, pages };
    cursor = next;
  }
  throw new Error("the cursor never comes to an end");
}

/** Everything of one tenant, oldest first. */
export const everything = async (store: Store, tenant = "acme"): Promise<EventRow[]> =>
  (await walk((cursor) => store.listEvents({ tenant, limit: 500, order: "oldest", cursor }))).items;

export const ids = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id);
