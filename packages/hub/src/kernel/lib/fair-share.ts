/** LRU eviction with fair shares: one owner cannot use up a limit that several owners share. */

export interface FairShareOptions<Item> {
  /** The owner that requests one more item. */
  owner: string;
  ownerOf(item: Item): string;
  /** Returns whether the item is unused now. */
  isIdle(item: Item): boolean;
}

/**
 * Returns the item to evict so that `owner` can have one more, or undefined if no item may be evicted.
 * `items` are sorted from the least to the most recently used. The largest owner is the one with the
 * most items. If it has at least two items more than `owner`, one of its items is evicted: an idle one
 * if possible, otherwise one in use. If not, only an idle item of `owner` is evicted, or one of the
 * largest owner if that has one item more.
 */
export function findEvictable<Item>(
  items: Iterable<Item>,
  { owner, ownerOf, isIdle }: FairShareOptions<Item>,
): Item | undefined {
  const byOwner = Map.groupBy(items, ownerOf);
  const ownItems = byOwner.get(owner) ?? [];
  let largest = ownItems;
  for (const share of byOwner.values()) if (share.length > largest.length) largest = share;
  if (largest.length >= ownItems.length + 2) return largest.find(isIdle) ?? largest[0];
  const candidates = largest.length > ownItems.length ? [...ownItems, ...largest] : ownItems;
  return candidates.find(isIdle);
}

/** The owner key of an access: its sorted tenants. */
export const ownerOfAccess = ({ tenants }: { tenants: readonly string[] }): string =>
  [...tenants].sort().join("\n");
