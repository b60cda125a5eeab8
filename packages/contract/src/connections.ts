/** Connections: MCP servers that flows call, and whose triggers start flows. */

import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";
import { changedConnectionFields, newConnectionFields } from "./connection-fields.ts";
import { cursorFor, limitQuery, listOf, pageOf, time } from "./paging.ts";
import { route } from "./route.ts";

const tag = "connections";

const scope = "admin";

export const connectionCursors = cursorFor("connection");

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

export type Connection = z.output<typeof connectionView>;

export const toolView = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: schema,
  outputSchema: schema.optional(),
  annotations: schema.optional(),
});

export type ConnectionTool = z.output<typeof toolView>;

export const offeredTrigger = z.object({
  type: z.string(),
  title: z.string().optional(),
  description: z.string(),
  binding: z
    .enum(["callback", "events", "poll"])
    .describe(
      "How the events arrive: by callback, by the MCP Events draft, or because the hub polls for them.",
    ),
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

export type OfferedTrigger = z.output<typeof offeredTrigger>;

export const toolResult = z.object({
  isError: z.boolean(),
  content: z.array(schema),
  structuredContent: schema.optional(),
});

export type CalledTool = z.output<typeof toolResult>;

/** One connection, with the names of its tools and triggers. Other routes return their schemas. */
export const connectionDetails = connectionView.extend({
  server: z.object({ name: z.string(), version: z.string() }).nullable(),
  tools: z.array(toolView.pick({ name: true, title: true, description: true })),
  triggers: z.array(offeredTrigger.pick({ type: true, title: true, description: true })),
});

export type ConnectionDetails = z.output<typeof connectionDetails>;

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

export type Subscription = z.output<typeof subscriptionView>;

const startedView = z.object({
  url: z.string().describe("The page of the authorization server, to open in the same browser."),
  expires_at: time,
});

const parameter = (max: number) =>
  z.string("must be a string").max(max, `must have at most ${max} characters`);

/** The query with which the authorization server redirects to the web UI. */
const authorizationResponse = z.strictObject({
  state: parameter(300),
  code: parameter(8_000).optional(),
  iss: parameter(2_000).optional(),
  error: parameter(200).optional(),
  error_description: parameter(2_000).optional(),
});

const offersRoute = <const Name extends string, View extends z.ZodType>(
  name: Name,
  view: View,
  summary: string,
) =>
  route({
    method: "get",
    path: `/api/connections/:connection/${name}`,
    summary,
    tag,
    scope,
    response: {
      status: 200,
      schema: z.object({ items: z.array(view), checked_at: time.nullable() }),
    },
  });

export const connectionApi = {
  list: route({
    method: "get",
    path: "/api/connections",
    summary: "List connections to MCP servers, with their status",
    tag,
    scope,
    query: z.strictObject({ limit: limitQuery, cursor: connectionCursors.query }),
    response: { status: 200, schema: pageOf(connectionView) },
  }),
  add: route({
    method: "post",
    path: "/api/connections",
    summary:
      "Add an MCP server, and check it. A server that does not respond is added too, with the status `failed`",
    tag,
    scope,
    body: newConnectionFields,
    response: { status: 201, schema: connectionDetails },
  }),
  get: route({
    method: "get",
    path: "/api/connections/:connection",
    summary: "Get a connection, with the tools and triggers of its server",
    tag,
    scope,
    response: { status: 200, schema: connectionDetails },
  }),
  change: route({
    method: "patch",
    path: "/api/connections/:connection",
    summary:
      "Change a connection. Omitted credentials are kept, but must be sent again if the origin of the URL changes",
    tag,
    scope,
    body: changedConnectionFields,
    response: { status: 200, schema: connectionDetails },
  }),
  remove: route({
    method: "delete",
    path: "/api/connections/:connection",
    summary:
      "Delete a connection. Its subscriptions are removed from the server in the background, and then its OAuth tokens are revoked; its events are kept",
    tag,
    scope,
    response: { status: 204 },
  }),
  check: route({
    method: "post",
    path: "/api/connections/:connection/check",
    summary: "Check the server now, and load its tools and triggers",
    tag,
    scope,
    response: { status: 200, schema: connectionDetails },
  }),
  listTools: offersRoute("tools", toolView, "List the tools of the server, with their schemas"),
  listTriggers: offersRoute(
    "triggers",
    offeredTrigger,
    "List the triggers of the server, with their params",
  ),
  callTool: route({
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
  }),
  listSubscriptions: route({
    method: "get",
    path: "/api/connections/:connection/subscriptions",
    summary:
      "List the subscriptions to the server's triggers: one for each Event trigger of a published flow whose source is the connection",
    tag,
    scope,
    response: { status: 200, schema: listOf(subscriptionView) },
  }),
  rotateToken: route({
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
  }),
};

const path = "/api/connections/:connection/authorization";

export const authorizationApi = {
  begin: route({
    method: "post",
    path,
    summary:
      "Begin to authorize the hub with OAuth. The web UI completes it in the session that began it",
    tag,
    scope,
    response: { status: 201, schema: startedView },
  }),
  complete: route({
    method: "put",
    path,
    summary: "Complete the authorization with the parameters of the redirect, and check the server",
    tag,
    scope,
    body: authorizationResponse,
    response: { status: 200, schema: connectionDetails },
  }),
  signOut: route({
    method: "delete",
    path,
    summary: "Sign out: delete the tokens of the connection, and revoke them at their server",
    tag,
    scope,
    response: { status: 200, schema: connectionDetails },
  }),
};
