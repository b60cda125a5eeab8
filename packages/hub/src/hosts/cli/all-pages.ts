import type { HubClient } from "./hub-client.ts";

const PAGE = 100;

/** All items of a list that the hub returns in pages. */
export async function allPages<Item>(
  hub: Pick<HubClient, "request">,
  path: string,
): Promise<Item[]> {
  const all: Item[] = [];
  let cursor: string | null = null;
  do {
    const page: { items: Item[]; next_cursor: string | null } = await hub.request("GET", path, {
      query: { limit: PAGE, cursor: cursor ?? undefined },
    });
    all.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
}
