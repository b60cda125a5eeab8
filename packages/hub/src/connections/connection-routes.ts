/** Connections: MCP servers that flows call, and whose triggers start flows. */
import {
  connectionApi,
  connectionCursors,
  type connectionDetails,
  type connectionView,
  type subscriptionView,
} from "@signalbox/contract/connections.ts";
import type { z } from "zod";
import { iso, isoOrNull, page } from "../kernel/http/paging.ts";
import { problemResponse } from "../kernel/http/problem-response.ts";
import { implement, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { ConnectionEditor } from "./connection-editor.ts";
import { ConnectionError, type ConnectionErrorCode } from "./connection-error.ts";
import type { Connections } from "./connections.ts";
import type { Connection, TriggerSubscription } from "./model.ts";
import type { RevokeRemoved } from "./revoke-removed.ts";

const viewConnection = (connection: Connection): z.output<typeof connectionView> => {
  const { target } = connection;
  return {
    id: connection.id,
    name: connection.name,
    url: "url" in target ? target.url : null,
    command: "command" in target ? target.command : null,
    args: "command" in target ? [...target.args] : [],
    credentials: connection.credentials,
    status: connection.status,
    error: connection.error,
    tool_count: connection.tool_count,
    trigger_count: connection.trigger_count,
    checked_at: isoOrNull(connection.checked_at),
    next_check_at: iso(connection.next_at),
    created_at: iso(connection.created_at),
    updated_at: iso(connection.updated_at),
  };
};

const viewSubscription = (
  subscription: TriggerSubscription,
): z.output<typeof subscriptionView> => ({
  id: subscription.id,
  flow_id: subscription.flow_id,
  node_id: subscription.node_id,
  type: subscription.type,
  params: subscription.params,
  state: subscription.state,
  error: subscription.error,
  last_fired_at: isoOrNull(subscription.last_fired_at),
  updated_at: iso(subscription.updated_at),
});

export interface ConnectionRoutes {
  store: Pick<
    Store,
    | "listConnections"
    | "deleteConnection"
    | "getOffers"
    | "listTriggerSubscriptions"
    | "rotateCallbackToken"
  >;
  editor: ConnectionEditor;
  /** Undefined if no hub runs, and a command uses the routes. */
  connections: Pick<Connections, "callTool"> | undefined;
  /** Undefined if no hub runs. */
  revokeRemoved: RevokeRemoved | undefined;
  now: () => number;
}

export const connectionRoutes = (options: ConnectionRoutes): Route[] => [
  ...manageRoutes(options),
  ...offerRoutes(options),
  ...subscriptionRoutes(options),
];

export const createViewDetails =
  (store: Pick<Store, "getOffers">) =>
  async (connection: Connection): Promise<z.output<typeof connectionDetails>> => {
    const offers = await store.getOffers(connection.tenant, connection.id);
    return {
      ...viewConnection(connection),
      server: offers?.server ?? null,
      tools: (offers?.tools ?? []).map(({ name, title, description }) => ({
        name,
        title,
        description,
      })),
      triggers: (offers?.triggers ?? []).map(({ type, title, description }) => ({
        type,
        title,
        description,
      })),
    };
  };

function manageRoutes({ store, editor, revokeRemoved, now }: ConnectionRoutes): Route[] {
  const viewDetails = createViewDetails(store);
  return [
    implement(connectionApi.list, async ({ tenant, query: { limit, cursor = "" } }) => {
      const connections = await store.listConnections(tenant, cursor, limit);
      return {
        json: page(connections, limit, ({ id }) => connectionCursors.of(id), viewConnection),
      };
    }),
    implement(connectionApi.add, async ({ tenant, body, signal }) => {
      return { json: await viewDetails(await editor.add(tenant, body, signal)) };
    }),
    implement(connectionApi.get, async ({ tenant, param }) => {
      return { json: await viewDetails(await editor.find(tenant, param("connection"))) };
    }),
    implement(connectionApi.change, async ({ tenant, param, body, signal }) => {
      const changed = await editor.change(tenant, param("connection"), body, signal);
      return { json: await viewDetails(changed) };
    }),
    implement(connectionApi.remove, async ({ tenant, param }) => {
      const connection = await editor.find(tenant, param("connection"));
      const remove = () => store.deleteConnection(tenant, connection.id, now());
      await (revokeRemoved ? revokeRemoved(connection, remove) : remove());
    }),
    implement(connectionApi.check, async ({ tenant, param, signal }) => {
      return {
        json: await viewDetails(await editor.check(tenant, param("connection"), signal)),
      };
    }),
  ];
}

function offerRoutes({ store, editor, connections }: ConnectionRoutes): Route[] {
  const readOffers = async ({ tenant, id }: { tenant: string; id: string }) => {
    const { checked_at } = await editor.find(tenant, id);
    const offers = await store.getOffers(tenant, id);
    return { offers, checked_at: isoOrNull(checked_at) };
  };
  return [
    implement(connectionApi.listTools, async ({ tenant, param }) => {
      const { offers, checked_at } = await readOffers({ tenant, id: param("connection") });
      return { json: { items: offers?.tools ?? [], checked_at } };
    }),
    implement(connectionApi.listTriggers, async ({ tenant, param }) => {
      const { offers, checked_at } = await readOffers({ tenant, id: param("connection") });
      return { json: { items: offers?.triggers ?? [], checked_at } };
    }),
    implement(connectionApi.callTool, async ({ tenant, param, body, signal }) => {
      const connection = await editor.find(tenant, param("connection"));
      if (!connections)
        throw new RequestError(
          "conflict",
          "connection",
          "No hub is running that could call the tool: start it with `npx signalbox serve`.",
        );
      const call = { tool: param("tool"), arguments: body.arguments };
      try {
        return {
          json: await connections.callTool(connection, call, {
            signal,
            timeoutMs: CALL_TIMEOUT_MS,
          }),
        };
      } catch (error) {
        if (error instanceof ConnectionError) return failedCallResponse(error);
        throw error;
      }
    }),
  ];
}

const CALL_TIMEOUT_MS = 60_000;

const CALL_PROBLEMS: Partial<Record<ConnectionErrorCode, { status: number; title: string }>> = {
  timeout: { status: 504, title: "The server did not respond in time" },
  busy: { status: 503, title: "Too many calls of this connection" },
  not_allowed: { status: 403, title: "Forbidden" },
};

export function failedCallResponse({ code, message }: ConnectionError): Response {
  const { status, title } = CALL_PROBLEMS[code] ?? {
    status: 502,
    title: "The call of the server failed",
  };
  const headers: Record<string, string> = status === 503 ? { "retry-after": "1" } : {};
  return problemResponse(status, `connection_${code}`, title, message, headers);
}

function subscriptionRoutes({ store, editor, now }: ConnectionRoutes): Route[] {
  return [
    implement(connectionApi.listSubscriptions, async ({ tenant, param }) => {
      const { id } = await editor.find(tenant, param("connection"));
      const subscriptions = await store.listTriggerSubscriptions(tenant, id);
      return { json: { items: subscriptions.map(viewSubscription) } };
    }),
    implement(connectionApi.rotateToken, async ({ tenant, param, body }) => {
      const { id } = await editor.find(tenant, param("connection"));
      const subscriptionId = param("subscription");
      const exists = await store.rotateCallbackToken(tenant, id, subscriptionId, {
        revokeNow: body.revoke_now,
        at: now(),
      });
      const subscriptions = await store.listTriggerSubscriptions(tenant, id);
      const subscription = subscriptions.find((candidate) => candidate.id === subscriptionId);
      if (!exists || !subscription)
        throw new RequestError(
          "not_found",
          "subscription",
          `The connection has no subscription ${subscriptionId.slice(0, 100)}.`,
        );
      return { json: viewSubscription(subscription) };
    }),
  ];
}
