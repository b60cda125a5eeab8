/**
 * A cache of the newest events in one tenant's log, shared by all followers of the log. A follower
 * whose cursor is before the cached events reads the log itself.
 */
import type { EventRow, Store } from "../store/store.ts";

const PAGE_SIZE = 500;
/** When the cache has more than twice as many events, only this many are kept. */
const CACHE_SIZE = 1_000;

export interface Tail {
  /** The `seq` of the newest event that was read. */
  readonly last: number;
  /** Returns the cached events after `seq`; undefined if the follower must read them from the log. */
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
  let mustReadAgain = false;
  /** The ids of events that changed since they were read, including some that are not cached. */
  let changed = new Set<string>();
  /** Incremented when a read in progress must be repeated. */
  let generation = 0;

  const dropOldest = (count: number) => {
    before = cached[count - 1]?.seq ?? before;
    cached = cached.slice(count);
  };
  const read = async () => {
    do {
      mustReadAgain = false;
      const generationBefore = generation;
      const { items, next } = await store.listEvents({
        tenant,
        order: "oldest",
        cursor: last,
        limit: PAGE_SIZE,
      });
      const isStale = generation !== generationBefore;
      if (next !== null || isStale) mustReadAgain = true;
      if (items.length === 0 || isStale) continue;
      cached.push(...items);
      last = items.at(-1)?.seq ?? last;
      if (cached.length > 2 * CACHE_SIZE) dropOldest(cached.length - CACHE_SIZE);
      onNew();
    } while (mustReadAgain);
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
      // Changed events are dropped here and not in `invalidate`, because most followers have already
      // read them.
      const lastStale = changed.size === 0 ? -1 : events.findLastIndex(({ id }) => changed.has(id));
      if (lastStale < 0) return events;
      const end = from + lastStale + 1;
      for (const { id } of cached.slice(0, end)) changed.delete(id);
      dropOldest(end);
      return undefined;
    },
    advance() {
      mustReadAgain = true;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    invalidate(ids) {
      if (!ids) {
        generation += 1;
        dropOldest(cached.length);
        return;
      }
      for (const id of ids) changed.add(id);
      if (changed.size <= 4 * CACHE_SIZE) return;
      // The ids of events that are not cached are removed from `changed`. A read in progress may return
      // such events, so it must be repeated.
      if (reading) generation += 1;
      changed = new Set(cached.map(({ id }) => id).filter((id) => changed.has(id)));
    },
  };
}

/** Returns the index of the first event after `seq`, by binary search. */
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
