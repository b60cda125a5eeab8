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
