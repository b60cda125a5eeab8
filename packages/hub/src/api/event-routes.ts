/** Events: list, search, get, claim, release, mark as processed, replay, explain. */
import { z } from "zod";
import {
  claimedSchema,
  eventSchema,
  explainedSchema,
  summarySchema,
} from "../inbox/event-schema.ts";
import type { JsonBody } from "../inbox/event-view.ts";
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
  claimable: z
    .enum(["1"], "must be 1")
    .optional()
    .describe("1: only pending events that no worker or agent has claimed."),
  text: text.min(1, "must not be empty").optional(),
});

const worker = z
  .string()
  .regex(/^[\w.-]{1,100}$/, "must have 1 to 100 letters, digits, dots, hyphens or underscores")
  .describe("Distinguishes workers that use the same token: only this worker holds the claim.");
const seconds = (min: number) =>
  z
    .int("must be an integer")
    .min(min, `must be at least ${min}`)
    .max(86_400, "must be at most 86400");

/** The ids of tokens contain no slash. */
const ownerOf = (token: string, worker: string | undefined): string =>
  worker === undefined ? token : `${token}/${worker}`;

const jsonResponse = (json: JsonBody): Response =>
  new Response(json, { headers: { "content-type": "application/json" } });

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
      async handle({ tenant, query: { text, order, repo, source, pending, claimable, ...rest } }) {
        if (claimable && pending === "0")
          throw new RequestError("invalid", "claimable", "cannot be combined with pending=0");
        const isPending = claimable ? true : pending === undefined ? undefined : pending === "1";
        const { events: items, next_cursor } =
          text === undefined
            ? await inbox.listSummaries([tenant], {
                ...rest,
                order,
                repo,
                source,
                pending: isPending,
                claimable: claimable !== undefined,
              })
            : await inbox.search([tenant], {
                ...rest,
                text: assertAlone(text, { order, repo, source, claimable }),
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
      handle: async ({ tenant, param, reserveBytes }) =>
        jsonResponse(await inbox.get([tenant], param("event"), "event_id", reserveBytes)),
    }),
    defineRoute({
      method: "post",
      path: "/api/events/:event/claim",
      summary:
        "Claim an event, or renew the claim of the same worker; ?payload=0 omits the payload",
      tag,
      scope: "inbox:write",
      query: z.strictObject({ payload: z.enum(["0", "1"], "must be 0 or 1").optional() }),
      body: z.strictObject({
        worker: worker.optional(),
        lease_s: seconds(5).default(300).describe("The lease in seconds, 5 to 86400."),
      }),
      response: { status: 200, schema: claimedSchema },
      async handle({ tenant, access, param, query, body, reserveBytes }) {
        const json = await inbox.claimOne(
          [tenant],
          ownerOf(access.token, body.worker),
          param("event"),
          { leaseMs: body.lease_s * 1_000, payload: query.payload !== "0" },
          reserveBytes,
        );
        return jsonResponse(json);
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/events/:event/release",
      summary: "End a claim, so that others can claim the event: at once, or after a delay",
      tag,
      scope: "inbox:write",
      body: z.strictObject({
        worker: worker.optional(),
        delay_s: seconds(0).optional().describe("No one can claim the event for so many seconds."),
        count_attempt: z
          .boolean()
          .default(true)
          .describe("Whether the claim counts as one of the event's `attempts`."),
      }),
      response: { status: 200, schema: z.object({ id: z.string() }) },
      async handle({ tenant, access, param, body: { worker, delay_s = 0, count_attempt } }) {
        const id = param("event");
        await inbox.release([tenant], ownerOf(access.token, worker), id, {
          delayMs: delay_s * 1_000,
          uncounted: !count_attempt,
        });
        return { json: { id } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/events/:event/processed",
      summary: "Mark an event as processed; with a worker, only if that worker has claimed it",
      tag,
      scope: "inbox:write",
      body: z.strictObject({ note: z.string().max(1_000).optional(), worker: worker.optional() }),
      response: { status: 200, schema: z.object({ id: z.string(), already: z.boolean() }) },
      async handle({ tenant, access, param, body }) {
        const id = param("event");
        if (body.worker !== undefined) {
          const owner = ownerOf(access.token, body.worker);
          const { already } = await inbox.markClaimed([tenant], owner, id, body.note ?? null);
          return { json: { id, already } };
        }
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
