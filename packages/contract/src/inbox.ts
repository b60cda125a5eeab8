/** The inbox with the formats of existing clients: pending events of all tenants of the token. */
import { z } from "zod";
import { eventSchema, statusSchema, summarySchema } from "./events.ts";
import { limitQuery } from "./paging.ts";
import { route } from "./route.ts";

const inboxQuery = z.object({
  limit: limitQuery,
  cursor: z.string().optional().describe("`x-next-cursor` of the previous page."),
  type: z.string().optional().describe("Only events of this type, such as issues."),
  repo: z.string().optional().describe("Only events of this repository, as owner/name."),
  order: z.enum(["newest", "oldest"], "must be newest or oldest").optional(),
});

const tag = "inbox";
const nextCursorHeader = { "x-next-cursor": "The cursor of the next page, if there is one." };

export const inboxApi = {
  status: route({
    method: "get",
    path: "/pending-status",
    summary: "Count the pending events by type",
    tag,
    scope: "inbox:read",
    response: { status: 200, schema: statusSchema },
  }),
  listSummaries: route({
    method: "get",
    path: "/pending-events",
    summary: "List pending events, newest first",
    tag,
    scope: "inbox:read",
    query: inboxQuery,
    response: { status: 200, schema: z.array(summarySchema), headers: nextCursorHeader },
  }),
  listEvents: route({
    method: "get",
    path: "/webhook-events",
    summary: "List pending events with their payloads, newest first",
    tag,
    scope: "inbox:read",
    query: inboxQuery,
    response: { status: 200, schema: z.array(eventSchema), headers: nextCursorHeader },
  }),
  get: route({
    method: "get",
    path: "/event",
    summary: "Get an event with its payload",
    tag,
    scope: "inbox:read",
    query: z.object({ id: z.string().describe("The id of the event.") }),
    response: { status: 200, schema: eventSchema },
  }),
  markProcessed: route({
    method: "post",
    path: "/mark-processed",
    summary: "Mark an event as processed",
    tag,
    scope: "inbox:write",
    body: z.object(
      {
        event_id: z.string("must be the id of an event"),
        note: z
          .string("must be a string")
          .max(1_000, "must have at most 1000 characters")
          .optional(),
      },
      'must be an object such as { "event_id": "…" }',
    ),
    response: {
      status: 200,
      schema: z.object({ success: z.literal(true), event_id: z.string() }),
    },
  }),
  follow: route({
    method: "get",
    path: "/events",
    summary:
      "Follow new events as Server-Sent Events; with an `Upgrade` header, over a WebSocket. With a cursor, the stream first sends the events after the cursor",
    tag,
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
  }),
};

export const liveApi = {
  follow: route({
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
  }),
};
