/** LRU eviction with fair shares: one owner cannot occupy all items of a shared limit. */
export interface FairShareOptions<Item> {
  /** The owner that requests one more item. */
  owner: string;
  ownerOf(item: Item): string;
  /** Whether the item is not in use now. */
  isIdle(item: Item): boolean;
}

/**
 * Returns the item to evict. `items` are sorted from the least to the most recently used. If `owner` has
 * at least two items fewer than the largest owner, an item of the largest owner is evicted, even if it
 * is in use; idle items come first. Otherwise only an idle item of `owner` or of a larger owner is
 * evicted. Undefined if no item may be evicted.
 */
export function findEvictable<Item>(
  items: Iterable<Item>,
  { owner, ownerOf, isIdle }: FairShareOptions<Item>,
): Item | undefined {
  const byOwner = Map.groupBy(items, ownerOf);
  const own = byOwner.get(owner) ?? [];
  let largest = own;
  for (const share of byOwner.values()) if (share.length > largest.length) largest = share;
  if (largest.length >= own.length + 2) return largest.find(isIdle) ?? largest[0];
  const notSmaller = largest.length > own.length ? [...own, ...largest] : own;
  return notSmaller.find(isIdle);
}

/** The owner key of an access: its sorted tenants. */
export const ownerOfAccess = ({ tenants }: { tenants: readonly string[] }): string =>
  [...tenants].sort().join("\n");
