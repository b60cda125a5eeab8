import type { Store } from "../../store.ts";
import type { EventRow } from "../model.ts";

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
  /** Like `advance`, and first compares the newest events with the log. */
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
  /** The cache has the events with `before < seq <= last`. */
  let before = last;
  let cached: EventRow[] = [];
  /** The newest events for `verify`, also those that are no longer cached. */
  let known: Pick<EventRow, "id" | "seq">[] = newest
    .filter(({ seq }) => seq === last)
    .map(idAndSeq);
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
  /** Compares the newest events with the log, page by page, up to a page of which the log still has events. */
  const compare = async () => {
    const generationBefore = generation;
    for (let stop = known.length; ; stop -= PAGE_SIZE) {
      const start = Math.max(0, stop - PAGE_SIZE);
      const page = known.slice(start, stop);
      const from = known[start - 1]?.seq ?? (page[0] ? page[0].seq - 1 : last);
      const [{ items }, head] = await Promise.all([
        store.listEvents({ tenant, order: "oldest", cursor: from, limit: PAGE_SIZE }),
        store.getTenant(tenant),
      ]);
      if (generation !== generationBefore) return;
      const { seq: endOfLog, pruned_seq } = head ?? { seq: 0, pruned_seq: 0 };
      const ids = new Set(items.map(({ id }) => id));
      // Retention may have deleted the events up to `pruned_seq`.
      const lost = page.findIndex(({ id, seq }) => seq > pruned_seq && !ids.has(id));
      if (lost === 0 && start > 0) continue;
      const lastOfPage = stop === known.length ? last : (page.at(-1)?.seq ?? last);
      const end = Math.min(endOfLog, lost < 0 ? lastOfPage : (page[lost - 1]?.seq ?? from));
      const isLost = end < last;
      mustVerify = false;
      last = end;
      before = Math.min(from, end);
      cached = items.filter(({ seq }) => seq <= end);
      known = [...known.slice(0, start), ...cached.map(idAndSeq)];
      if (isLost) onLost(end);
      return;
    }
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
    known.push(...items.map(idAndSeq));
    last = items.at(-1)?.seq ?? last;
    if (cached.length > 2 * CACHE_SIZE) dropOldest(cached.length - CACHE_SIZE);
    if (known.length > 2 * CACHE_SIZE) known = known.slice(-CACHE_SIZE);
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

const idAndSeq = ({ id, seq }: EventRow) => ({ id, seq });

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
