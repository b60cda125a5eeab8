/** Previews which events a trigger would match, before it is published. */
import { eventConfig } from "@signalbox/rules/flows/nodes/event.ts";
import { z } from "zod";
import { itemSchema, reasonSchema } from "../../events/inbox/event-schema.ts";
import { itemView } from "../../events/inbox/event-view.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import type { Explainer } from "../matching/explain.ts";

const MAX_EVENTS = 100;
const MAX_BYTES = 16 * 1024 * 1024;

const selection = eventConfig.pick({ source: true, type: true, params: true, filter: true });

export const previewView = z.object({
  matched: z.int(),
  of: z.int().describe("The number of events that were compared."),
  compared: z.string().describe("A description of the events that were compared."),
  events: z.array(
    z.object({
      event: itemSchema,
      matched: z.boolean(),
      reason: z.string(),
      reasons: z.array(reasonSchema),
    }),
  ),
});

export const triggerRoutes = (explainer: Pick<Explainer, "test">): Route[] => [
  defineRoute({
    method: "post",
    path: "/api/triggers/preview",
    summary: `Compare an event trigger with the newest ${MAX_EVENTS} events of its source and type, up to 16 MiB of payloads; starts no run`,
    tag: "flows",
    scope: "inbox:read",
    body: selection,
    response: { status: 200, schema: previewView },
    async handle({ tenant, body, reserveBytes }) {
      const { type, ...conditions } = body;
      await reserveBytes(MAX_BYTES);
      const { tested, compared } = await explainer.test(
        tenant,
        { ...conditions, ...(type !== undefined && { type }) },
        { limit: MAX_EVENTS, maxBytes: MAX_BYTES },
      );
      return {
        json: {
          matched: tested.filter(({ matched }) => matched).length,
          of: tested.length,
          compared,
          events: tested.map(({ event, ...verdict }) => ({ event: itemView(event), ...verdict })),
        },
      };
    },
  }),
];
