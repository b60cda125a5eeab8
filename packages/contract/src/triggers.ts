/** Previews which events a trigger would match, before it is published. */

import { eventConfig } from "@signalbox/rules/flows/nodes/event.ts";
import { z } from "zod";
import { itemSchema, reasonSchema } from "./events.ts";
import { route } from "./route.ts";
export const MAX_PREVIEWED = 100;

const selection = eventConfig.pick({ source: true, type: true, params: true, filter: true });

export const previewView = z.object({
  matched: z.int(),
  of: z.int().describe("The number of events that were compared."),
  compared: z.string().describe("A description of the events that were compared."),
  basis: z
    .object({
      source: z.string(),
      type: z.string().nullable(),
      found: z.enum(["type", "source", "none"]),
    })
    .describe(
      "The events that were compared: `type`: the newest of this source and type. `source`: the newest of the source, because the trigger accepts every type, or because none of them has its type. `none`: no recent event is from the source.",
    ),
  events: z.array(
    z.object({
      event: itemSchema,
      matched: z.boolean(),
      reason: z.string(),
      reasons: z.array(reasonSchema),
    }),
  ),
});

export type TriggerPreview = z.output<typeof previewView>;

export const triggerApi = {
  preview: route({
    method: "post",
    path: "/api/triggers/preview",
    summary: `Compare an event trigger with the newest ${MAX_PREVIEWED} events of its source and type, up to 16 MiB of payloads; starts no run`,
    tag: "flows",
    scope: "inbox:read",
    body: selection,
    response: { status: 200, schema: previewView },
  }),
};
