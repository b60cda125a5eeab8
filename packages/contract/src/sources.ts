/** Webhook endpoints and their signing secrets, the kinds of senders, and test events. */

import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";
import { listOf, time } from "./paging.ts";
import { route } from "./route.ts";
import { MIN_SECRET_LENGTH, SHORT_SECRET } from "./secret-length.ts";

export const MAX_GRACE_HOURS = 87_600;
export const GRACE_HOURS = 24;

const tag = "sources";

const scope = "admin";

export const sourceView = z.object({
  id: z.string(),
  tenant: z.string(),
  kind: z.string(),
  name: z.string(),
  url: z.string().describe("The webhook URL to configure at the sender."),
  config: z.record(z.string(), z.json()),
  secrets: z.array(z.object({ id: z.string(), created_at: time, expires_at: time.nullable() })),
  created_at: time,
});

export type Source = z.output<typeof sourceView>;

export const withSecret = sourceView.extend({
  secret: z
    .string()
    .optional()
    .describe("The secret, if the hub generated it; only this response contains it."),
});

export type SourceWithSecret = z.output<typeof withSecret>;

const name = z.string().trim().min(1, "must not be empty").max(200);

const config = jsonObject("must be an object");

const secret = z.string("must be a string").min(MIN_SECRET_LENGTH, SHORT_SECRET).max(4096);

const text = z.string().min(1, "must not be empty").max(200);

const data = jsonObject("must be an object").optional();

export const sentView = z.object({
  id: z
    .string()
    .describe(
      "The id of the event: GET /api/events/:event/explain shows the triggers that it matches.",
    ),
  outcome: z.enum(["stored", "duplicate"]),
});

export type TestEventSent = z.output<typeof sentView>;

export const kindView = z.object({
  id: z.string().describe("The name in `/webhooks/SOURCE`, such as github."),
  title: z.string(),
  secret: z.object({
    issued_by: z
      .enum(["sender", "you"])
      .describe("`sender`: copy the secret from the sender. `you`: paste yours there."),
    setup: z.string().describe("Where to paste the URL and the secret at the sender."),
    variable: z.string().describe("The environment variable for the endpoint without a key."),
  }),
  verification: z
    .enum(["signed", "unsigned", "rejected", "key_required"])
    .describe(
      "How the endpoint without a key treats webhooks. `signed`: it verifies signatures. `unsigned`: it has no secret and accepts unsigned webhooks. `rejected`: it has no secret and rejects all webhooks. `key_required`: every GitHub account is a tenant, so this kind needs endpoints with a key.",
    ),
  max_bytes: z.int(),
  config: z
    .record(z.string(), z.json())
    .nullable()
    .describe("JSON Schema of an endpoint's `config`; null if it has none."),
  sample_types: z
    .array(z.string())
    .describe("The types that a test event can have; empty if they are unknown."),
});

export type SourceKind = z.output<typeof kindView>;

export const typeView = z.object({
  source: z.string(),
  source_id: z.string().describe("The endpoint, connection or flow that the events came from."),
  type: z.string(),
  count: z.int().describe("How many of the newest 1,000 events have this type."),
  last_received_at: time,
});

export type EventType = z.output<typeof typeView>;

export const rejectionCountView = z.object({
  source: z.string().describe("Empty if the request was for no source of the hub."),
  reason: z.string().describe("The code of the response, such as `signature_mismatch`."),
  count: z.int(),
  last_at: time,
  detail: z.string(),
});

export type RejectionCount = z.output<typeof rejectionCountView>;

export const sourceApi = {
  list: route({
    method: "get",
    path: "/api/sources",
    summary: "List webhook endpoints; with ?tenant=*, of all tenants",
    tag,
    scope,
    everyTenant: true,
    response: { status: 200, schema: listOf(sourceView) },
  }),
  add: route({
    method: "post",
    path: "/api/sources",
    summary: "Create a webhook endpoint; without a secret, the hub generates one",
    tag,
    scope,
    body: z.strictObject({
      kind: z.string("must be a kind of source, such as github"),
      name: name.optional(),
      config: config.optional(),
      secret: secret.optional(),
    }),
    response: { status: 201, schema: withSecret },
  }),
  change: route({
    method: "patch",
    path: "/api/sources/:source",
    summary: "Change an endpoint's name or config, or rotate its secret",
    tag,
    scope,
    everyTenant: true,
    body: z.strictObject({
      name: name.optional(),
      config: config.optional(),
      rotate: z
        .strictObject({
          secret: secret.optional(),
          grace_hours: z
            .number()
            .min(0, "must be at least 0")
            .max(MAX_GRACE_HOURS, `must be at most ${MAX_GRACE_HOURS}`)
            .default(GRACE_HOURS)
            .describe("How long the previous secrets stay valid."),
        })
        .optional(),
    }),
    response: { status: 200, schema: withSecret },
  }),
  remove: route({
    method: "delete",
    path: "/api/sources/:source",
    summary: "Delete an endpoint; its events are kept",
    tag,
    scope,
    everyTenant: true,
    response: { status: 204 },
  }),
};

export const sampleApi = {
  send: route({
    method: "post",
    path: "/api/samples",
    summary:
      "Send a sample webhook to an endpoint of this hub. It is signed with the endpoint's secret and stored like a real one",
    tag: "sources",
    scope: "admin",
    body: z.strictObject({
      source: text.describe("The kind of sender, such as github."),
      type: text.optional().describe("The event type, such as issues."),
      action: text.optional().describe("The action, such as opened."),
      id: text
        .optional()
        .describe("The delivery id. A second sample with the same id is a duplicate."),
      endpoint: text
        .optional()
        .describe(
          "The id of an endpoint with a key. Default: the endpoint without a key if it has a secret, otherwise the newest endpoint with a key.",
        ),
    }),
    response: {
      status: 200,
      schema: z.object({
        outcome: z.enum(["stored", "duplicate", "pong", "challenge", "handshake"]),
        id: z.string().optional().describe("The id of the event."),
        delivery: z.string().describe("The delivery id."),
        signed: z.boolean().describe("False if the endpoint has no secret."),
      }),
    },
  }),
};

export const testEventApi = {
  send: route({
    method: "post",
    path: "/api/events/test",
    summary:
      "Store a test event of a source, an endpoint or a connection: it is matched, and starts the runs of the triggers that it matches",
    tag: "events",
    scope: "admin",
    body: z.strictObject({
      source: text.describe(
        "A kind of sender such as github, or the id of an endpoint or a connection.",
      ),
      type: text.optional().describe("The event type. A connection requires it."),
      action: text.optional().describe("The action, such as opened."),
      data: data.describe(
        "Only for a connection: the data of the event. Default: the sample of the server.",
      ),
    }),
    response: { status: 202, schema: sentView },
  }),
  sendOfConnection: route({
    method: "post",
    path: "/api/connections/:connection/triggers/:type/test",
    summary:
      "Store a test event of a connection as if its server had sent it: it is matched, and starts the runs of the triggers that it matches. The header `signalbox-test` marks it",
    tag: "connections",
    scope: "admin",
    body: z.strictObject({
      data: data.describe("The data of the event. Default: the sample of the server."),
    }),
    response: {
      status: 202,
      schema: z.object({
        id: z
          .string()
          .describe(
            "The id of the event: GET /api/events/:event/explain shows the triggers that it matches.",
          ),
        type: z.string(),
        outcome: z.literal("stored"),
      }),
    },
  }),
};

export const sourceKindApi = {
  list: route({
    method: "get",
    path: "/api/source-kinds",
    summary: "List the kinds of senders, and how to set each up",
    tag,
    scope: "inbox:read",
    isShared: true,
    response: { status: 200, schema: listOf(kindView) },
  }),
  listEventTypes: route({
    method: "get",
    path: "/api/event-types",
    summary: "List the sources and types of recent events",
    tag: "events",
    scope: "inbox:read",
    response: { status: 200, schema: listOf(typeView) },
  }),
  countRejections: route({
    method: "get",
    path: "/api/refusals",
    summary:
      "Count the rejected webhooks and callbacks since this process started, by source and reason; needs a token for all tenants",
    tag,
    scope: "admin",
    isShared: true,
    response: { status: 200, schema: listOf(rejectionCountView) },
  }),
};
