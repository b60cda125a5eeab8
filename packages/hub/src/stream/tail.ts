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
  /** Invalidates the events with these ids, which have changed. */
  invalidate(ids: readonly string[]): void;
  /** Like `advance`, and first compares all cached events with the log. */
  verify(): Promise<void>;
}

interface TailListener {
  /** New events are cached. */
  onNew(): void;
  /**
   * The log no longer has the events after `end`, and their numbers are used again: the database was
   * restored, or has failed over to a standby that had not received these events.
   */
  onLost(end: number): void;
}

export async function openTail(
  store: Pick<Store, "getTenant" | "listEvents">,
  tenant: string,
  { onNew, onLost }: TailListener,
): Promise<Tail> {
  const [head, { items: newest }] = await Promise.all([
    store.getTenant(tenant),
    store.listEvents({ tenant, order: "newest", limit: 1 }),
  ]);
  let last = head?.seq ?? 0;
  /** The newest event is cached for `verify`. It may be missing, if retention has deleted it. */
  let cached: EventRow[] = newest.filter(({ seq }) => seq === last);
  /** The cache has the events with `before < seq <= last`. */
  let before = last - cached.length;
  let reading: Promise<void> | undefined;
  let mustReadAgain = false;
  let mustVerify = false;
  /** The ids of events that changed since they were read, including some that are not cached. */
  let changed = new Set<string>();
  /** Incremented when a read in progress must be repeated. */
  let generation = 0;

  const dropOldest = (count: number) => {
    before = cached[count - 1]?.seq ?? before;
    cached = cached.slice(count);
  };
  /** Replaces the newest cached events by those of the log, up to the first one that the log has lost. */
  const compare = async () => {
    const generationBefore = generation;
    const from = cached.at(-PAGE_SIZE - 1)?.seq ?? before;
    const [{ items }, head] = await Promise.all([
      store.listEvents({ tenant, order: "oldest", cursor: from, limit: PAGE_SIZE }),
      store.getTenant(tenant),
    ]);
    if (generation !== generationBefore) return;
    mustVerify = false;
    const { seq: endOfLog, pruned_seq } = head ?? { seq: 0, pruned_seq: 0 };
    const ids = new Set(items.map(({ id }) => id));
    const known = cached.filter(({ seq }) => seq > from);
    // Retention may have deleted the events up to `pruned_seq`.
    const lost = known.findIndex(({ id, seq }) => seq > pruned_seq && !ids.has(id));
    const end = Math.min(endOfLog, lost < 0 ? last : (known[lost - 1]?.seq ?? from));
    const isLost = end < last;
    last = end;
    before = Math.min(from, end);
    cached = items.filter(({ seq }) => seq <= end);
    if (isLost) onLost(end);
  };
  const readNew = async () => {
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
    if (items.length === 0 || isStale) return;
    cached.push(...items);
    last = items.at(-1)?.seq ?? last;
    if (cached.length > 2 * CACHE_SIZE) dropOldest(cached.length - CACHE_SIZE);
    onNew();
  };
  const read = async () => {
    try {
      do {
        while (mustVerify) await compare();
        await readNew();
      } while (mustReadAgain);
    } finally {
      // In the same task as the last check of `mustReadAgain`: a later call of `advance` must read again.
      reading = undefined;
    }
  };
  const advance = () => {
    mustReadAgain = true;
    reading ??= read();
    return reading;
  };

  return {
    get last() {
      return last;
    },
    after(seq) {
      if (seq >= last) return [];
      if (seq < before || mustVerify) return undefined;
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
    advance,
    verify() {
      generation += 1;
      mustVerify = true;
      return advance();
    },
    invalidate(ids) {
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
