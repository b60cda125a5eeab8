/** Events: list, search, get, mark as processed, replay, explain. */
import { z } from "zod";
import { eventSchema, explainedSchema, summarySchema } from "../inbox/event-schema.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { RequestError } from "../lib/request-error.ts";
import type { Explainer } from "../runs/explain.ts";
import { defineRoute, type Route } from "./route.ts";
import { limitQuery, pageOf } from "./views.ts";

const tag = "events";

const text = z.string().max(200, "must have at most 200 characters");
const listQuery = z.strictObject({
  limit: limitQuery,
  cursor: z.string().optional(),
  order: z.enum(["newest", "oldest"], "must be newest or oldest").optional(),
  type: text.optional(),
  repo: text.optional(),
  source: text.optional(),
  pending: z.enum(["0", "1"], "must be 0 or 1").optional(),
  text: text.min(1, "must not be empty").optional(),
});

export function eventRoutes(inbox: Inbox, triggers: Explainer): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/events",
      summary: "List events, newest first; ?text= searches them",
      tag,
      scope: "inbox:read",
      query: listQuery,
      response: { status: 200, schema: pageOf(summarySchema) },
      async handle({ tenant, query: { text, order, repo, source, pending, ...rest } }) {
        const isPending = pending === undefined ? undefined : pending === "1";
        const { events: items, next_cursor } =
          text === undefined
            ? await inbox.listSummaries([tenant], {
                ...rest,
                order,
                repo,
                source,
                pending: isPending,
              })
            : await inbox.search([tenant], {
                ...rest,
                text: assertAlone(text, { order, repo, source }),
                processed: isPending === undefined ? undefined : !isPending,
              });
        return { json: { items, next_cursor } };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/events/:event",
      summary: "Get an event with its payload",
      tag,
      scope: "inbox:read",
      response: { status: 200, schema: eventSchema },
      handle: async ({ tenant, param, reserveBytes }) => ({
        json: (await inbox.get([tenant], param("event"), {}, reserveBytes)).event,
      }),
    }),
    defineRoute({
      method: "post",
      path: "/api/events/:event/processed",
      summary: "Mark an event as processed",
      tag,
      scope: "inbox:write",
      body: z.strictObject({ note: z.string().max(1_000).optional() }),
      response: { status: 200, schema: z.object({ id: z.string(), already: z.boolean() }) },
      async handle({ tenant, param, body }) {
        const id = param("event");
        const { alreadyProcessed } = await inbox.markProcessed([tenant], [id], body.note ?? null);
        return { json: { id, already: alreadyProcessed.includes(id) } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/events/:event/replay",
      summary: "Evaluate the triggers of all flows, or of one flow, again for an event",
      tag,
      scope: "flows:call",
      body: z.strictObject({ flow: z.string().min(1).max(100).optional() }),
      response: {
        status: 202,
        schema: z.object({
          runs: z.array(z.object({ run_id: z.string(), flow_id: z.string() })),
          considered: z.int(),
        }),
      },
      async handle({ tenant, param, body }) {
        const { id } = await inbox.find([tenant], param("event"), "event_id");
        return { status: 202, json: await triggers.replay(tenant, id, body.flow) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/events/:event/explain",
      summary: "Explain which triggers matched an event, and why",
      tag,
      scope: "inbox:read",
      response: { status: 200, schema: z.object({ items: z.array(explainedSchema) }) },
      async handle({ tenant, param }) {
        const { id } = await inbox.find([tenant], param("event"), "event_id");
        return { json: { items: await triggers.explain(tenant, id) } };
      },
    }),
  ];
}

/** A search cannot be combined with other filters. */
function assertAlone(text: string, others: Record<string, unknown>): string {
  for (const [name, value] of Object.entries(others))
    if (value !== undefined)
      throw new RequestError("invalid", name, "cannot be combined with text");
  return text;
}
