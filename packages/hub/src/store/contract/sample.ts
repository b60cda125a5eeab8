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

let created = 0;

const idAt = (ms: number): string => createIds({ now: () => ms })();

/** By default its `external_id` is unique. */
export function sampleEvent(given: Partial<NewEvent> = {}): NewEvent {
  created += 1;
  const received_at = given.received_at ?? START;
  return {
    id: idAt(received_at),
    source: "github",
    source_id: "github",
    external_id: `delivery-${created}`,
    type: "issues",
    received_at,
    action: "opened",
    repo: "acme/web",
    sender: "ada",
    number: created,
    title: `The lamp is broken (${created})`,
    url: `https://github.com/acme/web/issues/${created}`,
    check_result: null,
    content_type: "application/json",
    headers: { "x-github-event": "issues" },
    body: new TextEncoder().encode(JSON.stringify({ created })),
    ...given,
  };
}

/** With a tuple type, a destructured element is not undefined. */
export type Tuple<Count extends number, Item> = Count extends 1
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
): Tuple<Count, NewEvent> =>
  Array.from({ length: count }, (_, at) => sampleEvent(given(at))) as Tuple<Count, NewEvent>;

/** The element at this index. Throws if there is none. */
export function nth<Item>(items: readonly Item[], at: number): Item {
  const item = items.at(at);
  if (item === undefined) throw new Error(`no item at ${at} of ${items.length}`);
  return item;
}

export const appendRequest = (events: NewEvent[], tenant = "acme"): AppendRequest => ({
  tenant,
  events,
});

/** Appends one request, which must be stored. Returns the `seq` of each event. */
export async function appendEvents(
  store: Store,
  events: NewEvent[],
  tenant = "acme",
): Promise<number[]> {
  const [appended] = await store.appendEvents([appendRequest(events, tenant)], null);
  return seqsOf(appended);
}

export function seqsOf(appended: AppendResult | StalePlan | undefined): number[] {
  if (!appended || !("events" in appended))
    throw new Error(`not stored: ${JSON.stringify(appended)}`);
  return appended.events.map(({ seq }) => seq);
}

/** Appends many events in requests of 500, a size that is fast on every engine. */
export async function appendInChunks(
  store: Store,
  events: NewEvent[],
  tenant = "acme",
): Promise<void> {
  for (let start = 0; start < events.length; start += 500)
    await appendEvents(store, events.slice(start, start + 500), tenant);
}

/** The expected row of an event that was never claimed or marked. */
export function newRow(event: NewEvent, seq: number, tenant = "acme"): EventRow {
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
    attempts: 0,
  };
}

/** Follows the cursors to the last page. Returns all items and the number of pages. */
export async function readPages<Item>(
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
  throw new Error("there is no last page");
}

/** All events of one tenant, oldest first. */
export const allEvents = async (store: Store, tenant = "acme"): Promise<EventRow[]> =>
  (await readPages((cursor) => store.listEvents({ tenant, limit: 500, order: "oldest", cursor })))
    .items;

export const ids = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id);
