/**
 * A cache of the newest events in one tenant's log, shared by all followers of the log. A follower
 * whose cursor is before the cached events reads the log itself.
 */
import type { EventRow, Store } from "../store/store.ts";

const PAGE = 500;
/** The cache is cut to this many events when it has twice as many. */
const CACHED = 1_000;

export interface Tail {
  /** The `seq` of the newest event that was read. */
  readonly last: number;
  /** The cached events after `seq`; undefined if the log has to be read. */
  after(seq: number): readonly EventRow[] | undefined;
  /** Reads new events into the cache, and calls `onNew`. */
  advance(): Promise<void>;
  /** Invalidates the events with these ids, which have changed; without ids, all events. */
  invalidate(ids?: readonly string[]): void;
}

export async function openTail(
  store: Pick<Store, "getTenant" | "listEvents">,
  tenant: string,
  onNew: () => void,
): Promise<Tail> {
  let last = (await store.getTenant(tenant))?.seq ?? 0;
  /** The cache has the events with `before < seq <= last`. */
  let before = last;
  let cached: EventRow[] = [];
  let reading: Promise<void> | undefined;
  let again = false;
  /** The ids of events that changed since they were read, including some that are not cached. */
  let changed = new Set<string>();
  /** Incremented when a read in progress must be repeated. */
  let generation = 0;

  const drop = (count: number) => {
    before = cached[count - 1]?.seq ?? before;
    cached = cached.slice(count);
  };
  const read = async () => {
    do {
      again = false;
      const generationBefore = generation;
      const { items, next } = await store.listEvents({
        tenant,
        order: "oldest",
        cursor: last,
        limit: PAGE,
      });
      const isStale = generation !== generationBefore;
      if (next !== null || isStale) again = true;
      if (items.length === 0 || isStale) continue;
      cached.push(...items);
      last = items.at(-1)?.seq ?? last;
      if (cached.length > 2 * CACHED) drop(cached.length - CACHED);
      onNew();
    } while (again);
  };

  return {
    get last() {
      return last;
    },
    after(seq) {
      if (seq >= last) return [];
      if (seq < before) return undefined;
      const from = firstAfter(cached, seq);
      const events = cached.slice(from);
      // Not checked in `invalidate`, because most followers have already read the changed events.
      const stale = changed.size === 0 ? -1 : events.findLastIndex(({ id }) => changed.has(id));
      if (stale < 0) return events;
      const end = from + stale + 1;
      for (const { id } of cached.slice(0, end)) changed.delete(id);
      drop(end);
      return undefined;
    },
    advance() {
      again = true;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    invalidate(ids) {
      if (!ids) {
        generation += 1;
        drop(cached.length);
        return;
      }
      for (const id of ids) changed.add(id);
      if (changed.size <= 4 * CACHED) return;
      // A read in progress may return some of the changed events.
      if (reading) generation += 1;
      changed = new Set(cached.map(({ id }) => id).filter((id) => changed.has(id)));
    },
  };
}

/** The index of the first event after `seq`, by binary search. */
function firstAfter(events: readonly EventRow[], seq: number): number {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((events[middle] as EventRow).seq <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
