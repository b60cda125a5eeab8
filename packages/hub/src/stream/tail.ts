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

  const read = async () => {
    do {
      again = false;
      const { items, next } = await store.listEvents({
        tenant,
        order: "oldest",
        cursor: last,
        limit: PAGE,
      });
      if (next !== null) again = true;
      if (items.length === 0) continue;
      kept.push(...items);
      last = items.at(-1)?.seq ?? last;
      if (kept.length > 2 * KEPT) {
        before = kept[kept.length - KEPT - 1]?.seq ?? before;
        kept = kept.slice(-KEPT);
      }
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
      return kept.slice(firstAfter(kept, seq));
    },
    advance() {
      again = true;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      return reading;
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
