/** Decides who loses a place when a shared limit is reached, so that one owner cannot take them all. */
export interface FairShareOptions<Item> {
  /** The owner that wants one more item. */
  owner: string;
  ownerOf(item: Item): string;
  /** Whether the item is not in use now. */
  isIdle(item: Item): boolean;
}

/**
 * The item to end, of `items` from the least to the most recently used. An owner with fewer items than
 * the largest owner takes one of that owner's, even if it is in use. If the shares are even, only idle
 * items are ended. Undefined if the owner must wait.
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

/** The tenants of an access, as the owner of what it opens. */
export const ownerOfAccess = ({ tenants }: { tenants: readonly string[] }): string =>
  [...tenants].sort().join("\n");
