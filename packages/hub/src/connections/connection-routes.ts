/** Connections: MCP servers that flows call, and whose triggers start flows. */
import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";
import { cursorFor, iso, isoOrNull, limitQuery, page, pageOf } from "../kernel/http/paging.ts";
import { problemResponse } from "../kernel/http/problem-response.ts";
import { defineRoute, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { ConnectionEditor } from "./connection-editor.ts";
import { ConnectionError, type ConnectionErrorCode } from "./connection-error.ts";
import { changedConnectionFields, newConnectionFields } from "./connection-fields.ts";
import type { Connections } from "./connections.ts";
import type { Connection, TriggerSubscription } from "./model.ts";
import type { RevokeRemoved } from "./revoke-removed.ts";

const tag = "connections";
const scope = "admin" as const;
const cursors = cursorFor("connection");
const time = z.iso.datetime();
const schema = z.record(z.string(), z.json());

export const connectionView = z.object({
  id: z
    .string()
    .describe("The `source` of Event triggers that listen to events of the connection."),
  name: z.string(),
  url: z.string().nullable(),
  command: z.string().nullable(),
  args: z.array(z.string()),
  credentials: z
    .record(z.string(), z.json())
    .describe(
      "The kind of the credentials, and the names of their values. The values are never returned.",
    ),
  status: z
    .enum(["unknown", "ok", "failed", "needs_authorization"])
    .describe(
      "The result of the last check; `unknown` if there was none yet, `needs_authorization` if a person must authorize the hub.",
    ),
  error: z
    .string()
    .nullable()
    .describe("Why the last check failed: the error message of the server."),
  tool_count: z.int(),
  trigger_count: z.int(),
  checked_at: time.nullable(),
  next_check_at: time,
  created_at: time,
  updated_at: time,
});

const viewConnection = (connection: Connection): z.input<typeof connectionView> => {
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

export const toolView = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: schema,
  outputSchema: schema.optional(),
  annotations: schema.optional(),
});

export const offeredTrigger = z.object({
  type: z.string(),
  title: z.string().optional(),
  description: z.string(),
  binding: z
    .enum(["callback", "events"])
    .describe("How the server delivers the events: by callback, or by the MCP Events draft."),
  inputSchema: schema.describe("JSON Schema of the params."),
  paramsSchema: schema,
  payloadSchema: schema.optional(),
  sample: schema.optional(),
  omittedParams: z
    .literal("any")
    .optional()
    .describe(
      "`any`: an omitted param matches every value; else the server may assume its default.",
    ),
});

export const toolResult = z.object({
  isError: z.boolean(),
  content: z.array(schema),
  structuredContent: schema.optional(),
});

/** One connection, with the names of its tools and triggers. Other routes return their schemas. */
export const connectionDetails = connectionView.extend({
  server: z.object({ name: z.string(), version: z.string() }).nullable(),
  tools: z.array(toolView.pick({ name: true, title: true, description: true })),
  triggers: z.array(offeredTrigger.pick({ type: true, title: true, description: true })),
});

export const subscriptionView = z.object({
  id: z.string(),
  flow_id: z.string(),
  node_id: z.string(),
  type: z.string().describe("Empty if the trigger accepts every type."),
  params: schema,
  state: z
    .enum(["configuring", "active", "paused", "failed"])
    .describe("The state that the server has confirmed. A `failed` subscription is retried."),
  error: z
    .string()
    .nullable()
    .describe("Why the server rejected the subscription: its error message."),
  last_fired_at: time.nullable(),
  updated_at: time,
});

const viewSubscription = (subscription: TriggerSubscription): z.input<typeof subscriptionView> => ({
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
  async (connection: Connection): Promise<z.input<typeof connectionDetails>> => {
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
    defineRoute({
      method: "get",
      path: "/api/connections",
      summary: "List connections to MCP servers, with their status",
      tag,
      scope,
      query: z.strictObject({ limit: limitQuery, cursor: cursors.query }),
      response: { status: 200, schema: pageOf(connectionView) },
      async handle({ tenant, query: { limit, cursor = "" } }) {
        const connections = await store.listConnections(tenant, cursor, limit);
        return { json: page(connections, limit, ({ id }) => cursors.of(id), viewConnection) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/connections",
      summary:
        "Add an MCP server, and check it. A server that does not respond is added too, with the status `failed`",
      tag,
      scope,
      body: newConnectionFields,
      response: { status: 201, schema: connectionDetails },
      async handle({ tenant, body, signal }) {
        return { status: 201, json: await viewDetails(await editor.add(tenant, body, signal)) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/connections/:connection",
      summary: "Get a connection, with the tools and triggers of its server",
      tag,
      scope,
      response: { status: 200, schema: connectionDetails },
      async handle({ tenant, param }) {
        return { json: await viewDetails(await editor.find(tenant, param("connection"))) };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/api/connections/:connection",
      summary:
        "Change a connection. Omitted credentials are kept, but must be sent again if the origin of the URL changes",
      tag,
      scope,
      body: changedConnectionFields,
      response: { status: 200, schema: connectionDetails },
      async handle({ tenant, param, body, signal }) {
        const changed = await editor.change(tenant, param("connection"), body, signal);
        return { json: await viewDetails(changed) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/connections/:connection",
      summary:
        "Delete a connection. Its subscriptions are removed from the server in the background, and then its OAuth tokens are revoked; its events are kept",
      tag,
      scope,
      response: { status: 204 },
      async handle({ tenant, param }) {
        const connection = await editor.find(tenant, param("connection"));
        const remove = () => store.deleteConnection(tenant, connection.id, now());
        await (revokeRemoved ? revokeRemoved(connection, remove) : remove());
        return { status: 204 };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/connections/:connection/check",
      summary: "Check the server now, and load its tools and triggers",
      tag,
      scope,
      response: { status: 200, schema: connectionDetails },
      async handle({ tenant, param, signal }) {
        return {
          json: await viewDetails(await editor.check(tenant, param("connection"), signal)),
        };
      },
    }),
  ];
}

function offerRoutes({ store, editor, connections }: ConnectionRoutes): Route[] {
  const listRoute = <Name extends "tools" | "triggers">(
    name: Name,
    view: z.ZodType,
    summary: string,
  ): Route =>
    defineRoute({
      method: "get",
      path: `/api/connections/:connection/${name}`,
      summary,
      tag,
      scope,
      response: {
        status: 200,
        schema: z.object({ items: z.array(view), checked_at: time.nullable() }),
      },
      async handle({ tenant, param }) {
        const { id, checked_at } = await editor.find(tenant, param("connection"));
        const offers = await store.getOffers(tenant, id);
        return { json: { items: offers?.[name] ?? [], checked_at: isoOrNull(checked_at) } };
      },
    });
  return [
    listRoute("tools", toolView, "List the tools of the server, with their schemas"),
    listRoute("triggers", offeredTrigger, "List the triggers of the server, with their params"),
    defineRoute({
      method: "post",
      path: "/api/connections/:connection/tools/:tool",
      summary:
        "Call a tool of the server. If the call fails, the response is 502 with the message of the server",
      tag,
      scope,
      body: z.strictObject(
        { arguments: jsonObject("must be an object").default({}) },
        {
          error: ({ code }) =>
            code === "unrecognized_keys"
              ? 'unexpected field: the arguments of the tool go in "arguments"'
              : undefined,
        },
      ),
      response: { status: 200, schema: toolResult },
      async handle({ tenant, param, body, signal }) {
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
      },
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
    defineRoute({
      method: "get",
      path: "/api/connections/:connection/subscriptions",
      summary:
        "List the subscriptions to the server's triggers: one for each Event trigger of a published flow whose source is the connection",
      tag,
      scope,
      response: { status: 200, schema: z.object({ items: z.array(subscriptionView) }) },
      async handle({ tenant, param }) {
        const { id } = await editor.find(tenant, param("connection"));
        const subscriptions = await store.listTriggerSubscriptions(tenant, id);
        return { json: { items: subscriptions.map(viewSubscription) } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/connections/:connection/subscriptions/:subscription/rotate",
      summary:
        "Send the server a new callback token, in the background. The former token stays valid for 24 hours, or is revoked immediately",
      tag,
      scope,
      body: z.strictObject({
        revoke_now: z
          .boolean()
          .default(false)
          .describe(
            "Reject callbacks with the former token from now on, also before the server has the new one. Use it for a token that leaked.",
          ),
      }),
      response: { status: 202, schema: subscriptionView },
      async handle({ tenant, param, body }) {
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
        return { status: 202, json: viewSubscription(subscription) };
      },
    }),
  ];
}
