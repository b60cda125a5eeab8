/** Times and pages in the responses of the API. */
export const iso = (ms: number) => new Date(ms).toISOString();

export const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));

/** Returns a page. If it is full, another page may follow. */
export function page<Item, View>(
  items: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => string,
  view: (item: Item) => View,
): { items: View[]; next_cursor: string | null } {
  const last = items.at(-1);
  return {
    items: items.map(view),
    next_cursor: items.length === limit && last !== undefined ? cursorOf(last) : null,
  };
}

/**
 * Returns one page of the items that the caller may see, from a list that is sorted by id, descending.
 * Reads pages until enough items are visible, so that the caller gets no id of an invisible item, not
 * even as a cursor.
 */
export async function visiblePage<Item extends { id: string }>(
  { limit, before }: { limit: number; before: string | undefined },
  read: (list: { limit: number; before: string | undefined }) => Promise<readonly Item[]>,
  isVisible: (item: Item) => boolean,
): Promise<Item[]> {
  const visible: Item[] = [];
  for (let readBefore = before; ; ) {
    const items = await read({ limit, before: readBefore });
    visible.push(...items.filter(isVisible));
    if (visible.length >= limit || items.length < limit) return visible.slice(0, limit);
    readBefore = items.at(-1)?.id;
  }
}
