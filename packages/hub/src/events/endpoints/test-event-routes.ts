/** Routes that store test events, to test a trigger without its sender. */
import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";
import { isRejection, type Rejection, toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { SendSample } from "../admit/send-sample.ts";
import type { SendTestEvent } from "../callback/send-test-event.ts";

export interface TestEventRoutes {
  store: Pick<Store, "getConnection" | "listSources">;
  sendSample: SendSample;
  sendTestEvent: SendTestEvent;
}

const data = jsonObject("must be an object").optional();

function toResponse(rejection: Rejection): Response {
  const { status, headers, body } = toAnswer(rejection);
  return new Response(body, { status, headers });
}

const text = z.string().min(1, "must not be empty").max(200);
export const sentView = z.object({
  id: z
    .string()
    .describe(
      "The id of the event: GET /api/events/:event/explain shows the triggers that it matches.",
    ),
  outcome: z.enum(["stored", "duplicate"]),
});

export const testEventRoutes = ({ store, sendSample, sendTestEvent }: TestEventRoutes): Route[] => [
  defineRoute({
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
    async handle({ tenant, body: { source, type, action, data } }) {
      if (await store.getConnection(tenant, source)) {
        if (type === undefined)
          throw new RequestError("invalid", "type", "is missing: name the trigger's type");
        const sent = await sendTestEvent({ tenant, connection: source, type, data });
        return isRejection(sent)
          ? toResponse(sent)
          : { status: 202, json: { id: sent.id, outcome: "stored" } };
      }
      if (data !== undefined)
        throw new RequestError("invalid", "data", "is allowed for connections only");
      const endpoint = (await store.listSources(tenant)).find(({ id }) => id === source);
      const kind = endpoint?.kind ?? source;
      const sent = await sendSample({ tenant, source: kind, type, action, endpoint: endpoint?.id });
      const { outcome } = sent;
      if (isRejection(outcome)) return toResponse(outcome);
      if (!("id" in outcome))
        throw new RequestError("invalid", "type", "this sample is not stored as an event");
      return { status: 202, json: { id: outcome.id, outcome: outcome.outcome } };
    },
  }),
  defineRoute({
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
    async handle({ tenant, param, body }) {
      const type = param("type");
      const sent = await sendTestEvent({ tenant, connection: param("connection"), type, ...body });
      if (isRejection(sent)) return toResponse(sent);
      return { status: 202, json: { id: sent.id, type, outcome: "stored" as const } };
    },
  }),
];
