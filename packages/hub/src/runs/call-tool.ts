/** Calls tools of connections for a step, and lists them. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { ConnectionTool, ToolResult } from "@signalbox/rules/flows/node-type.ts";
import { ConnectionError, type ConnectionErrorCode } from "../connections/connection-error.ts";
import type { Connections, ToolAnswer } from "../connections/connections.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Connection, ConnectionStore, OfferedTool } from "../store/connection-store.ts";
import type { NodeServices } from "./node-services.ts";

export interface CallToolOptions {
  store: Pick<ConnectionStore, "getConnection" | "getOffers">;
  connections: Pick<Connections, "callTool" | "loadOffers">;
}

/** The time limit of the step ends the call earlier. */
const MAX_CALL_MS = 24 * 3_600_000;
const LIST_TIMEOUT_MS = 20_000;
/** How many tool lists are cached, since parsing a list of 1,000 tools takes longer than a call. */
const CACHED_LISTS = 100;

/** Errors that a retry cannot resolve. */
const PERMANENT = new Set<ConnectionErrorCode>([
  "address_refused",
  "invalid_target",
  "not_allowed",
]);

export function createToolServices({
  store,
  connections,
}: CallToolOptions): Pick<NodeServices, "callTool" | "listTools"> {
  const lists = new BoundedMap<string, ConnectionTool[]>(CACHED_LISTS);

  const findConnection = async (tenant: string, id: string): Promise<Connection> => {
    const found = await store.getConnection(tenant, id);
    if (found) return found;
    throw new Permanent(`There is no connection ${id}. Add it, or choose another connection.`, {
      code: "no_such_connection",
    });
  };

  return {
    async listTools({ tenant }, id, { signal }) {
      const connection = await findConnection(tenant, id);
      // A check of the connection stores a new list.
      const key = JSON.stringify([id, connection.revision, connection.checked_at]);
      const cached = lists.get(key);
      if (cached) return cached;
      const stored = await store.getOffers(tenant, id);
      const offers =
        stored ??
        (await connections
          .loadOffers(connection, { signal, timeoutMs: LIST_TIMEOUT_MS })
          .catch(rethrow));
      const tools = offers.tools.map(toConnectionTool);
      if (stored) lists.set(key, tools);
      return tools;
    },

    async callTool({ tenant }, made, caller) {
      const { connection: id, tool, arguments: given, id: call, timeoutMs = MAX_CALL_MS } = made;
      const connection = await findConnection(tenant, id);
      const answer = await connections
        .callTool(
          connection,
          { tool, arguments: given },
          {
            signal: caller.signal,
            timeoutMs,
            idempotencyKey: call === undefined ? caller.key : `${caller.key}:${call}`,
            onProgress: caller.onProgress,
          },
        )
        .catch(rethrow);
      return toToolResult(answer);
    },
  };
}

function rethrow(error: unknown): never {
  if (error instanceof ConnectionError && PERMANENT.has(error.code))
    throw new Permanent(error.message, { code: error.code, cause: error });
  throw error;
}

const toConnectionTool = ({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
}: OfferedTool): ConnectionTool => ({
  name,
  ...(title !== undefined && { title }),
  description,
  inputSchema,
  ...(outputSchema && { outputSchema }),
});

const toToolResult = ({ isError, content, structuredContent }: ToolAnswer): ToolResult => ({
  isError,
  content: [...content],
  structured: structuredContent ?? null,
  text: content
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n"),
});
