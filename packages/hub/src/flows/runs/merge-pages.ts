/**
 * Merges one page of each of several lists into one page. The lists are ordered by id, newest
 * first.
 */
import type { Page } from "../../kernel/store/page.ts";

export function mergePages<Item extends { id: string }>(
  pages: readonly Page<Item, string>[],
  limit: number,
): Page<Item, string> {
  // A list was read down to its `next`, so items below the highest `next` may be missing.
  const lowestRead = pages.reduce(
    (highest, { next }) => (next && next > highest ? next : highest),
    "",
  );
  // An item that moves from one list to another between two reads is in both.
  const byId = new Map(pages.flatMap(({ items }) => items.map((item) => [item.id, item] as const)));
  const items = [...byId.values()]
    .filter(({ id }) => id >= lowestRead)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  if (items.length <= limit) return { items, next: lowestRead || null };
  const firstItems = items.slice(0, limit);
  return { items: firstItems, next: firstItems.at(-1)?.id ?? null };
}
