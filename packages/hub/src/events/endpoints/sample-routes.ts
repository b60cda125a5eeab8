/** Sends sample webhooks, to try a hub without a sender. */
import { z } from "zod";
import { toAnswer } from "../../kernel/http/ingest-outcome.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import type { SendSample } from "../admit/send-sample.ts";

const text = z.string().min(1, "must not be empty").max(200);

export const sampleRoutes = (sendSample: SendSample): Route[] => [
  defineRoute({
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
    async handle({ tenant, body }) {
      const { outcome: result, delivery, signed } = await sendSample({ tenant, ...body });
      const { outcome } = result;
      if (outcome === "refused") {
        const { status, headers, body } = toAnswer(result);
        return new Response(body, { status, headers });
      }
      const id = "id" in result ? { id: result.id } : {};
      return { json: { outcome, ...id, delivery, signed } };
    },
  }),
];
