/** Calls tools of connections for a step, and lists them. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { ToolResult } from "@signalbox/rules/flows/node-type.ts";
import { ConnectionError, type ConnectionErrorCode } from "../../connections/connection-error.ts";
import type { Connections, ToolAnswer } from "../../connections/connections.ts";
import type { Connection } from "../../connections/model.ts";
import { createToolLists, toolsOf } from "../../connections/tool-lists.ts";
import type { Store } from "../../store.ts";
import type { NodeServices } from "./execution.ts";
import { outboundOrigin } from "./outbound-limits.ts";

export interface CallToolOptions {
  store: Pick<Store, "getConnection" | "getOffers">;
  connections: Pick<Connections, "callTool" | "loadOffers">;
}

/** In most cases, the time limit of the step ends the call earlier. */
const MAX_CALL_MS = 24 * 3_600_000;
const LIST_TIMEOUT_MS = 20_000;

/** Errors that a retry cannot resolve, or after which the tool has probably had its effect. */
const PERMANENT = new Set<ConnectionErrorCode>([
  "address_refused",
  "invalid_response",
  "invalid_target",
  "not_allowed",
  "too_large",
]);

export function createToolServices({
  store,
  connections,
}: CallToolOptions): Pick<NodeServices, "callTool" | "listTools"> {
  const lists = createToolLists(store);
  const noConnection = (id: string) =>
    new Permanent(`There is no connection ${id}. Add it, or choose another connection.`, {
      code: "no_such_connection",
    });

  return {
    async listTools({ tenant }, id, { signal }) {
      const toolList = await lists.find(tenant, id);
      if (!toolList) throw noConnection(id);
      const load = () =>
        connections
          .loadOffers(toolList.connection, { signal, timeoutMs: LIST_TIMEOUT_MS })
          .then(toolsOf, rethrowError);
      return [...(toolList.tools ?? (await load())).values()];
    },

    async callTool({ tenant }, call, caller) {
      const { connection: id, tool, arguments: args, id: callId, timeoutMs = MAX_CALL_MS } = call;
      const connection = await store.getConnection(tenant, id);
      if (!connection) throw noConnection(id);
      const leave = await caller.enterOrigin(originOf(connection));
      const answer = await connections
        .callTool(
          connection,
          { tool, arguments: args },
          {
            signal: caller.signal,
            beforeSend: caller.beforeSend,
            timeoutMs,
            idempotencyKey: callId === undefined ? caller.key : `${caller.key}:${callId}`,
            onProgress: caller.onProgress,
          },
        )
        .catch(rethrowError)
        .finally(leave);
      return toToolResult(answer);
    },
  };
}

const originOf = ({ name, target }: Connection): string =>
  "url" in target ? outboundOrigin(target.url) : `the command of ${name}`;

/** Throws `Permanent` if a retry cannot help. */
function rethrowError(error: unknown): never {
  if (error instanceof ConnectionError && PERMANENT.has(error.code))
    throw new Permanent(error.message, { code: error.code, cause: error });
  throw error;
}

const toToolResult = ({ isError, content, structuredContent }: ToolAnswer): ToolResult => ({
  isError,
  content: [...content],
  structured: structuredContent ?? null,
  text: content
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n"),
});
