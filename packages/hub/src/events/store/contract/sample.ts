import { createIds } from "../../../kernel/lib/ids.ts";
import type { Page } from "../../../kernel/store/verb.ts";
import type { Store } from "../../../store.ts";
import type { AppendRequest, AppendResult, EventRow, NewEvent, StalePlan } from "../../model.ts";

export const START = Date.UTC(2026, 0, 1);
export const SECOND = 1_000;
export const DAY = 24 * 60 * 60 * SECOND;

let createdCount = 0;

const idAt = (ms: number): string => createIds({ now: () => ms })();

/** Returns an event. Its `external_id` is unique unless `overrides` sets it. */
export function sampleEvent(overrides: Partial<NewEvent> = {}): NewEvent {
  createdCount += 1;
  const received_at = overrides.received_at ?? START;
  return {
    id: idAt(received_at),
    source: "github",
    source_id: "github",
    external_id: `delivery-${createdCount}`,
    type: "issues",
    received_at,
    action: "opened",
    repo: "acme/web",
    sender: "ada",
    number: createdCount,
    title: `The lamp is broken (${createdCount})`,
    url: `https://github.com/acme/web/issues/${createdCount}`,
    check_result: null,
    content_type: "application/json",
    headers: { "x-github-event": "issues" },
    body: new TextEncoder().encode(JSON.stringify({ created: createdCount })),
    ...overrides,
  };
}

/** A tuple of `Count` items. Unlike those of an array, its destructured elements cannot be undefined. */
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
  overrides: (index: number) => Partial<NewEvent> = () => ({}),
): Tuple<Count, NewEvent> =>
  Array.from({ length: count }, (_, index) => sampleEvent(overrides(index))) as Tuple<
    Count,
    NewEvent
  >;

/** Returns the item at this index, which counts from the end if it is negative. Throws if there is none. */
export function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items.at(index);
  if (item === undefined) throw new Error(`no item at ${index} of ${items.length}`);
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

/** Returns the expected row of an event that was never claimed or marked. */
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
    claimed_by: null,
    claimed_until: null,
    attempts: 0,
  };
}

/** Follows the cursors to the last page. Returns all items and the number of pages. */
export async function readPages<Item>(
  readPage: (cursor: number | undefined) => Promise<Page<Item>>,
): Promise<{ items: Item[]; pages: number }> {
  const items: Item[] = [];
  let cursor: number | undefined;
  for (let pages = 1; pages < 10_000; pages += 1) {
    const { items: more, next } = await readPage(cursor);
    items.push(...more);
    if (next === null) return { items, pages };
    cursor = next;
  }
  throw new Error("there is no last page");
}

/** Returns all events of one tenant, oldest first. */
export const allEvents = async (store: Store, tenant = "acme"): Promise<EventRow[]> =>
  (await readPages((cursor) => store.listEvents({ tenant, limit: 500, order: "oldest", cursor })))
    .items;

export const ids = (events: readonly { id: string }[]): string[] => events.map(({ id }) => id);
