/** Pages of a list, newest first, that is patched in place: rows never move by themselves. */
import type { Page } from "../api/types.ts";

export interface Pages<Item> {
  pages: Page<Item>[];
  pageParams: unknown[];
}

export interface ListOf<Item> {
  /** Grows from older to newer items. */
  orderOf: (item: Item) => number | string;
  /** Whether a row would look the same. */
  isSame: (a: Item, b: Item) => boolean;
}

/** Replaces shown items by their newer state, and counts the new ones without showing them. */
export function mergeNewest<Item extends { id: string }>(
  { orderOf, isSame }: ListOf<Item>,
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
 * Makes the part of the list that the newest page covers equal to it, without the new items, which are
 * counted: rows that no longer match the filter leave the list.
 */
export function syncNewest<Item extends { id: string }>(
  { orderOf, isSame }: ListOf<Item>,
  shown: Pages<Item>,
  newest: Page<Item>,
): { pages: Pages<Item>; added: number } {
  const items = shown.pages.flatMap((page) => page.items);
  const [first] = items;
  if (first === undefined) return { pages: shown, added: newest.items.length };
  const byId = new Map(items.map((item) => [item.id, item]));
  const known = newest.items.filter((item) => orderOf(item) <= orderOf(first));
  const top = known.map((item) => {
    const before = byId.get(item.id);
    return before && isSame(item, before) ? before : item;
  });
  const last = newest.items.at(-1);
  // A page of a filter can be empty although older items match.
  const isBelow = (item: Item) =>
    newest.next_cursor !== null && (last === undefined || orderOf(item) < orderOf(last));
  const added = newest.items.length - known.length;
  const next = [...top, ...items.filter(isBelow)];
  if (next.length === items.length && next.every((item, at) => item === items[at]))
    return { pages: shown, added };
  const pages = shown.pages.map((page, at) => ({
    ...page,
    items: [...(at === 0 ? top : []), ...page.items.filter(isBelow)],
  }));
  return { pages: { ...shown, pages }, added };
}

/** Keeps pages and items that do not change, so that only changed rows are drawn again. */
export function patch<Item>(
  shown: Pages<Item>,
  isSame: ListOf<Item>["isSame"],
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
