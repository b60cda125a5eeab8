import type { Page } from "@signalbox/contract";
import { api, type Query } from "./client.ts";

const PAGE_SIZE = 100;
/** A longer list is cut off: it would be too long to choose from. */
const MAX_ITEMS = 1_000;

/** Reads the pages of a list until it ends, or has MAX_ITEMS. */
export async function readAll<Item>(target: string, query: Query = {}): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await api.get<Page<Item>>(target, { ...query, limit: PAGE_SIZE, cursor });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && items.length < MAX_ITEMS);
  return items;
}
