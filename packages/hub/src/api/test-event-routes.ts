/** Test events of connections: they exercise a trigger without the server. */
import { z } from "zod";
import type { SendTestEvent } from "../ingest/callback/send-test-event.ts";
import { isRejection, toAnswer } from "../ingest/ingest-outcome.ts";
import { defineRoute, type Route } from "./route.ts";

export const testEventRoutes = (sendTestEvent: SendTestEvent): Route[] => [
  defineRoute({
    method: "post",
    path: "/api/connections/:connection/triggers/:type/test",
    summary:
      "Store a test event of a connection as if its server had sent it: it is matched, and starts the runs of the triggers that it matches. The header `signalbox-test` marks it",
    tag: "connections",
    scope: "admin",
    body: z.strictObject({
      data: z
        .record(z.string(), z.json(), "must be an object")
        .optional()
        .describe("The data of the event. Without it, the sample that the server gives."),
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
      if (isRejection(sent)) {
        const { status, headers, body: problem } = toAnswer(sent);
        return new Response(problem, { status, headers });
      }
      return { status: 202, json: { id: sent.id, type, outcome: "stored" as const } };
    },
  }),
];
