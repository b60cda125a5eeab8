/** The tools and triggers of connections, as their servers listed them last. */
import type { ConnectionTool, ConnectionTrigger } from "@signalbox/rules/flows/node-type.ts";
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import type { Store } from "../store.ts";
import type { Connection, Offers } from "./model.ts";

export interface ListedConnection {
  connection: Connection;
  /** Undefined if the connection was never checked successfully. */
  tools: ReadonlyMap<string, ConnectionTool> | undefined;
  /** Defined if `tools` are. */
  triggers: ReadonlyMap<string, ConnectionTrigger> | undefined;
}

export interface ToolLists {
  /** Undefined if there is no such connection. */
  find(tenant: string, id: string): Promise<ListedConnection | undefined>;
}

/** Lists are cached because parsing one with 1,000 tools takes longer than a tool call. */
const CACHED_LISTS = 100;

export function createToolLists(store: Pick<Store, "getConnection" | "getOffers">): ToolLists {
  const cache = new BoundedMap<string, Pick<ListedConnection, "tools" | "triggers">>(CACHED_LISTS);
  return {
    async find(tenant, id) {
      const connection = await store.getConnection(tenant, id);
      if (!connection) return undefined;
      // A check may store new lists. It changes `checked_at`, and so the key.
      const { revision, checked_at, attempt } = connection;
      const key = JSON.stringify([id, revision, checked_at, attempt]);
      const cached = cache.get(key);
      if (cached) return { connection, ...cached };
      const offers = await store.getOffers(tenant, id);
      if (!offers) return { connection, tools: undefined, triggers: undefined };
      const lists = { tools: toolsOf(offers), triggers: triggersOf(offers) };
      cache.set(key, lists);
      return { connection, ...lists };
    },
  };
}

/** The tools by name. */
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

/** The triggers by type. */
const triggersOf = ({ triggers }: Offers): ReadonlyMap<string, ConnectionTrigger> =>
  new Map(
    triggers.map(({ type, inputSchema, paramsSchema, payloadSchema, omittedParams }) => [
      type,
      {
        inputSchema,
        paramsSchema,
        ...(payloadSchema && { payloadSchema }),
        ...(omittedParams && { omittedParams }),
      },
    ]),
  );
