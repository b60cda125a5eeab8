/** The endpoints that receive webhooks, and callbacks of MCP servers. */
import { z } from "zod";
import { MAX_ID, MAX_TIMESTAMP, MAX_TYPE } from "./event-limits.ts";
import { route } from "./route.ts";

const tag = "webhooks";

const receivedView = z.object({
  outcome: z.enum(["stored", "duplicate", "pong"]),
  id: z.string().optional().describe("The id of the event."),
  events: z
    .array(z.object({ outcome: z.enum(["stored", "duplicate"]), id: z.string() }))
    .optional()
    .describe("The events of a webhook that contains several."),
});

const webhookRoute = <const Path extends string>(path: Path, summary: string) =>
  route({
    method: "post",
    path,
    summary,
    tag,
    scope: undefined,
    body: z.record(z.string(), z.json()),
    response: {
      status: 202,
      schema: receivedView,
      or: { status: 200, schema: receivedView, when: "A duplicate, or a ping of the sender" },
    },
  });

export const webhookApi = {
  receive: webhookRoute(
    "/webhooks/:source",
    "Receive a webhook of a source, such as github. The request is verified by its signature",
  ),
  receiveAtEndpoint: webhookRoute(
    "/webhooks/:source/:key",
    "Receive a webhook at an endpoint with its own secrets",
  ),
  receiveCallback: route({
    method: "post",
    path: "/api/trigger-callback",
    summary: "Receive an event of a trigger from an MCP server",
    tag,
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
  }),
};
