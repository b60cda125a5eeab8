/**
 * One page of the items that the caller may see, of a list that is sorted by id, descending. Pages are
 * read until enough items are visible, so that a cursor is always the id of a visible item.
 */
export async function visiblePage<Item extends { id: string }>(
  { limit, before }: { limit: number; before: string | undefined },
  read: (list: { limit: number; before: string | undefined }) => Promise<readonly Item[]>,
  isVisible: (item: Item) => boolean,
): Promise<Item[]> {
  const visible: Item[] = [];
  for (let at = before; ; ) {
    const items = await read({ limit, before: at });
    visible.push(...items.filter(isVisible));
    if (visible.length >= limit || items.length < limit) return visible.slice(0, limit);
    at = items.at(-1)?.id;
  }
}
