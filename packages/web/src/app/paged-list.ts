/**
 * Merges the newest page of a list into the pages that are shown, newest items first. New items are
 * only counted, so that they do not move the rows that the user reads.
 */
import type { Page } from "@signalbox/contract";

export interface Pages<Item> {
  pages: Page<Item>[];
  pageParams: unknown[];
}

export interface ItemOrder<Item> {
  /** Returns a value that grows from older to newer items. */
  orderOf: (item: Item) => number | string;
  /** Whether the rows of the two items look the same. */
  isSame: (a: Item, b: Item) => boolean;
}

/** Replaces the shown items by their newer state, and counts the new items. */
export function mergeNewest<Item extends { id: string }>(
  { orderOf, isSame }: ItemOrder<Item>,
  shown: Pages<Item>,
  newest: Page<Item>,
): { pages: Pages<Item>; added: number } {
  const byId = new Map(newest.items.map((item) => [item.id, item]));
  const first = shown.pages.find(({ items }) => items.length > 0)?.items[0];
  return {
    pages: patch(shown, isSame, (item) => byId.get(item.id) ?? item),
    added: newest.items.filter((item) => first === undefined || orderOf(item) > orderOf(first))
      .length,
  };
}

/**
 * Replaces all rows in the range of the newest page by its items, and counts the new items. Rows that
 * no longer match the filter are thus removed.
 */
export function syncNewest<Item extends { id: string }>(
  { orderOf, isSame }: ItemOrder<Item>,
  shown: Pages<Item>,
  newest: Page<Item>,
): { pages: Pages<Item>; added: number } {
  const items = shown.pages.flatMap((page) => page.items);
  const [first] = items;
  if (first === undefined) return { pages: shown, added: newest.items.length };
  const byId = new Map(items.map((item) => [item.id, item]));
  const oldItems = newest.items.filter((item) => orderOf(item) <= orderOf(first));
  const top = oldItems.map((item) => {
    const before = byId.get(item.id);
    return before && isSame(item, before) ? before : item;
  });
  const last = newest.items.at(-1);
  // A filtered page can be empty although older items match.
  const isBelow = (item: Item) =>
    newest.next_cursor !== null && (last === undefined || orderOf(item) < orderOf(last));
  const added = newest.items.length - oldItems.length;
  const next = [...top, ...items.filter(isBelow)];
  if (next.length === items.length && next.every((item, index) => item === items[index]))
    return { pages: shown, added };
  const pages = shown.pages.map((page, index) => ({
    ...page,
    items: [...(index === 0 ? top : []), ...page.items.filter(isBelow)],
  }));
  return { pages: { ...shown, pages }, added };
}

/** Applies `change` to each item. Unchanged pages and items keep their identity, so that only changed rows render again. */
export function patch<Item>(
  shown: Pages<Item>,
  isSame: ItemOrder<Item>["isSame"],
  change: (item: Item) => Item,
): Pages<Item> {
  let isChanged = false;
  const pages = shown.pages.map((page) => {
    let isPageChanged = false;
    const items = page.items.map((item) => {
      const next = change(item);
      if (next === item || isSame(next, item)) return item;
      isPageChanged = true;
      return next;
    });
    isChanged ||= isPageChanged;
    return isPageChanged ? { ...page, items } : page;
  });
  return isChanged ? { ...shown, pages } : shown;
}
