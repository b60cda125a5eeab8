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
