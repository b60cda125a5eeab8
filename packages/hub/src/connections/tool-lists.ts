/** The tools of connections, as their servers listed them last. */
import type { ConnectionTool } from "@signalbox/rules/flows/node-type.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Connection, ConnectionStore, Offers } from "../store/connection-store.ts";

export interface ListedConnection {
  connection: Connection;
  /** Undefined if the connection was never checked successfully. */
  tools: ReadonlyMap<string, ConnectionTool> | undefined;
}

export interface ToolLists {
  /** Undefined if there is no such connection. */
  find(tenant: string, id: string): Promise<ListedConnection | undefined>;
}

/** Parsing a list of 1,000 tools takes longer than a call. */
const CACHED_LISTS = 100;

export function createToolLists(
  store: Pick<ConnectionStore, "getConnection" | "getOffers">,
): ToolLists {
  const cache = new BoundedMap<string, NonNullable<ListedConnection["tools"]>>(CACHED_LISTS);
  return {
    async find(tenant, id) {
      const connection = await store.getConnection(tenant, id);
      if (!connection) return undefined;
      // Each successful check stores a new list.
      const { revision, checked_at, attempt } = connection;
      const key = JSON.stringify([id, revision, checked_at, attempt]);
      const cached = cache.get(key);
      if (cached) return { connection, tools: cached };
      const offers = await store.getOffers(tenant, id);
      const tools = offers && toolsOf(offers);
      if (tools) cache.set(key, tools);
      return { connection, tools };
    },
  };
}

/** By name. */
export const toolsOf = ({ tools }: Offers): ReadonlyMap<string, ConnectionTool> =>
  new Map(
    tools.map(({ name, title, description, inputSchema, outputSchema }) => [
      name,
      {
        name,
        ...(title !== undefined && { title }),
        description,
        inputSchema,
        ...(outputSchema && { outputSchema }),
      },
    ]),
  );
