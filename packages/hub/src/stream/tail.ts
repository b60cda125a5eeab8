/**
 * A cache of the newest events of one tenant's log, shared by all of its followers. The store's
 * notices make it read new events; a follower that is further behind reads the log itself.
 */
import type { EventRow, Store } from "../store/store.ts";

const PAGE = 500;
/** At least this many of the newest events are cached. */
const CACHED = 1_000;

export interface Tail {
  /** The `seq` of the newest event that was read. */
  readonly last: number;
  /** The cached events after `seq`; undefined if the log has to be read. */
  after(seq: number): readonly EventRow[] | undefined;
  /** Reads new events, and calls `onNew` when they are cached. */
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
  let before = last;
  let cached: EventRow[] = [];
  let reading: Promise<void> | undefined;
  let again = false;
  /** Changed since they were cached, or during a read; may include events that have left the cache. */
  let changed = new Set<string>();
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
      // Checked here and not on change: most followers are past the events that change.
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
