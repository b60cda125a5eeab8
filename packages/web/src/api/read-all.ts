import { api, type Query } from "./client.ts";
import type { Page } from "./types.ts";

const PAGE = 100;
/** More is no list to choose from. */
const MAX_ITEMS = 1_000;

/** The items of all pages of a list. */
export async function readAll<Item>(target: string, query: Query = {}): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await api.get<Page<Item>>(target, { ...query, limit: PAGE, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < MAX_ITEMS);
  return items;
}
