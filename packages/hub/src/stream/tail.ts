/**
 * The newest events of one tenant's log, read once for all who follow it. New events are read when
 * the store says that there are some; whoever is further behind reads the log itself.
 */
import type { EventRow, Store } from "../store/store.ts";

const PAGE = 500;
/** Followers that are behind by less are served from memory. */
const KEPT = 1_000;

export interface Tail {
  /** The last place that is known to be there. */
  readonly last: number;
  /** The kept events after a place; undefined where it lies before all that are kept. */
  after(seq: number): readonly EventRow[] | undefined;
  /** Reads what is new; `onNew` is told once it is here. */
  advance(): Promise<void>;
  /** These are no longer as they were read, or, without ids, any may be: the log has them. */
  forget(ids?: readonly string[]): void;
}

export async function openTail(
  store: Pick<Store, "getTenant" | "listEvents">,
  tenant: string,
  onNew: () => void,
): Promise<Tail> {
  let last = (await store.getTenant(tenant))?.seq ?? 0;
  let before = last;
  let kept: EventRow[] = [];
  let reading: Promise<void> | undefined;
  let again = false;
  /** Changed since they were kept, or while they are being read; some may not be kept any more. */
  let changed = new Set<string>();
  let forgotten = 0;

  const drop = (count: number) => {
    before = kept[count - 1]?.seq ?? before;
    kept = kept.slice(count);
  };
  const read = async () => {
    do {
      again = false;
      const known = forgotten;
      const { items, next } = await store.listEvents({
        tenant,
        order: "oldest",
        cursor: last,
        limit: PAGE,
      });
      const isOld = known !== forgotten;
      if (next !== null || isOld) again = true;
      if (items.length === 0 || isOld) continue;
      kept.push(...items);
      last = items.at(-1)?.seq ?? last;
      if (kept.length > 2 * KEPT) drop(kept.length - KEPT);
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
      const from = firstAfter(kept, seq);
      const events = kept.slice(from);
      // Looked at only here: most who follow are at the end, past whatever changes.
      const stale = changed.size === 0 ? -1 : events.findLastIndex(({ id }) => changed.has(id));
      if (stale < 0) return events;
      const end = from + stale + 1;
      for (const { id } of kept.slice(0, end)) changed.delete(id);
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
    forget(ids) {
      if (!ids) {
        forgotten += 1;
        drop(kept.length);
        return;
      }
      for (const id of ids) changed.add(id);
      if (changed.size <= 4 * KEPT) return;
      // What is being read may hold some of them too.
      if (reading) forgotten += 1;
      changed = new Set(kept.map(({ id }) => id).filter((id) => changed.has(id)));
    },
  };
}

/** Where the events after a place begin, by halving: places grow. */
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
