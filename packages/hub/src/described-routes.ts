/**
 * Describes the routes that `mountRoutes` does not serve, for the OpenAPI document. Some of the schemas
 * also validate requests.
 */

import { z } from "zod";
import { TRIGGER_CALLBACK } from "./events/admit/receive-request.ts";
import { MAX_TIMESTAMP } from "./events/callback/parse-callback.ts";
import { eventSchema, statusSchema, summarySchema } from "./events/inbox/event-schema.ts";
import { MAX_ID, MAX_TYPE } from "./kernel/http/check-text.ts";
import { limitQuery } from "./kernel/http/paging.ts";
import type { RouteDescription } from "./kernel/http/route.ts";
import { METRICS_SCOPE } from "./operations/authorize-metrics.ts";

export const inboxQuery = z.object({
  limit: limitQuery,
  cursor: z.string().optional().describe("`x-next-cursor` of the previous page."),
  type: z.string().optional().describe("Only events of this type, such as issues."),
  repo: z.string().optional().describe("Only events of this repository, as owner/name."),
  order: z.enum(["newest", "oldest"], "must be newest or oldest").optional(),
});

export const markProcessedBody = z.object(
  {
    event_id: z.string("must be the id of an event"),
    note: z.string("must be a string").max(1_000, "must have at most 1000 characters").optional(),
  },
  'must be an object such as { "event_id": "…" }',
);

const nextCursorHeader = { "x-next-cursor": "The cursor of the next page, if there is one." };

const inboxRoutes: RouteDescription[] = [
  {
    method: "get",
    path: "/pending-status",
    summary: "Count the pending events by type",
    tag: "inbox",
    scope: "inbox:read",
    response: { status: 200, schema: statusSchema },
  },
  {
    method: "get",
    path: "/pending-events",
    summary: "List pending events, newest first",
    tag: "inbox",
    scope: "inbox:read",
    query: inboxQuery,
    response: { status: 200, schema: z.array(summarySchema), headers: nextCursorHeader },
  },
  {
    method: "get",
    path: "/webhook-events",
    summary: "List pending events with their payloads, newest first",
    tag: "inbox",
    scope: "inbox:read",
    query: inboxQuery,
    response: { status: 200, schema: z.array(eventSchema), headers: nextCursorHeader },
  },
  {
    method: "get",
    path: "/event",
    summary: "Get an event with its payload",
    tag: "inbox",
    scope: "inbox:read",
    query: z.object({ id: z.string().describe("The id of the event.") }),
    response: { status: 200, schema: eventSchema },
  },
  {
    method: "post",
    path: "/mark-processed",
    summary: "Mark an event as processed",
    tag: "inbox",
    scope: "inbox:write",
    body: markProcessedBody,
    response: {
      status: 200,
      schema: z.object({ success: z.literal(true), event_id: z.string() }),
    },
  },
  {
    method: "get",
    path: "/events",
    summary:
      "Follow new events as Server-Sent Events; with an `Upgrade` header, over a WebSocket. With a cursor, the stream first sends the events after the cursor",
    tag: "inbox",
    scope: "inbox:read",
    query: z.object({
      after: z
        .string()
        .optional()
        .describe(
          "A cursor of the stream. The header `Last-Event-ID` has the same effect, and takes precedence.",
        ),
      type: z.string().optional().describe("Only events of this type."),
      repo: z.string().optional().describe("Only events of this repository, as owner/name."),
      source: z.string().optional().describe("Only events of this source."),
      token: z
        .string()
        .optional()
        .describe("The token, for clients that cannot set the header `Authorization`."),
    }),
    response: { status: 200, type: "text/event-stream" },
  },
];

const liveRoute: RouteDescription = {
  method: "get",
  path: "/api/live",
  summary:
    "One stream for a browser tab: Server-Sent Events `connected`, `event`, `change`, `run_step`, `draft`, `warnings` and `truncated`. It resumes after `Last-Event-ID`",
  tag: "events",
  scope: "inbox:read",
  query: z.object({
    topics: z
      .string()
      .default("events,changes")
      .describe(
        "Separated by commas: `events`, `changes`, `runs:ID`, `flows:ID`. Runs and their changes need the scope `runs:read`; flows and their changes need the scope `admin`.",
      ),
    after: z
      .string()
      .optional()
      .describe(
        "A cursor of the stream. The header `Last-Event-ID` has the same effect, and takes precedence.",
      ),
  }),
  response: { status: 200, type: "text/event-stream" },
};

const receivedView = z.object({
  outcome: z.enum(["stored", "duplicate", "pong"]),
  id: z.string().optional().describe("The id of the event."),
  events: z
    .array(z.object({ outcome: z.enum(["stored", "duplicate"]), id: z.string() }))
    .optional()
    .describe("The events of a webhook that contains several."),
});

const webhookRoutes: RouteDescription[] = ["/webhooks/:source", "/webhooks/:source/:key"].map(
  (path) => ({
    method: "post",
    path,
    summary: path.endsWith(":key")
      ? "Receive a webhook at an endpoint with its own secrets"
      : "Receive a webhook of a source, such as github. The request is verified by its signature",
    tag: "webhooks",
    scope: undefined,
    body: z.record(z.string(), z.json()),
    response: {
      status: 202,
      schema: receivedView,
      or: { status: 200, schema: receivedView, when: "A duplicate, or a ping of the sender" },
    },
  }),
);

const callbackRoute: RouteDescription = {
  method: "post",
  path: TRIGGER_CALLBACK,
  summary: "Receive an event of a trigger from an MCP server",
  tag: "webhooks",
  scope: undefined,
  needsCallbackToken: true,
  body: z.object({
    type: z.string().min(1).max(MAX_TYPE).describe("The type of the trigger."),
    data: z.record(z.string(), z.json()).optional().describe("The payload of the event."),
    id: z
      .string()
      .max(MAX_ID)
      .optional()
      .describe(
        "Events with the same id are stored once. Without it, the header `Idempotency-Key` or `webhook-id` has the same effect.",
      ),
    timestamp: z
      .string()
      .max(MAX_TIMESTAMP)
      .optional()
      .describe(
        "When the event happened, as RFC 3339. The hub stores the text as sent, does not check it, and does not order events by it.",
      ),
  }),
  response: {
    status: 202,
    schema: z.object({
      ok: z.literal(true),
      type: z.string(),
      id: z.string().describe("The id of the event in the inbox."),
      outcome: z.enum(["stored", "duplicate"]),
    }),
  },
};

const statusView = (value: string) => z.object({ status: z.literal(value) });
const metaRoutes: RouteDescription[] = [
  {
    method: "get",
    path: "/healthz",
    summary: "Check whether the process responds",
    tag: "meta",
    scope: undefined,
    response: { status: 200, schema: statusView("ok") },
  },
  {
    method: "get",
    path: "/readyz",
    summary: "Check whether the hub accepts requests and can write to its database",
    tag: "meta",
    scope: undefined,
    response: { status: 200, schema: statusView("ready") },
  },
  {
    method: "get",
    path: "/metrics",
    summary: "Get the metrics in the Prometheus format",
    tag: "meta",
    scope: undefined,
    optionalScope: METRICS_SCOPE,
    response: { status: 200, type: "text/plain" },
  },
];

export const describedRoutes: readonly RouteDescription[] = [
  ...inboxRoutes,
  liveRoute,
  ...webhookRoutes,
  callbackRoute,
  ...metaRoutes,
];
