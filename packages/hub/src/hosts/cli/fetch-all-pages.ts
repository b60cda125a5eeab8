import type { HubClient } from "./hub-client.ts";

const PAGE_SIZE = 100;

/** Fetches all items of a list that the hub returns in pages. */
export async function fetchAllPages<Item>(
  hub: Pick<HubClient, "request">,
  path: string,
): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: Item[]; next_cursor: string | null } = await hub.request("GET", path, {
      query: { limit: PAGE_SIZE, cursor: cursor ?? undefined },
    });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return items;
}
