/** Routes of single events: get, claim, release, mark as processed, replay, explain. */
import { z } from "zod";
import type { Explainer } from "../../flows/matching/explain.ts";
import { limitWithDefault, pageOf } from "../../kernel/http/paging.ts";
import { defineRoute, NO_STORE, type Route } from "../../kernel/http/route.ts";
import { eventListRoutes } from "./event-list-routes.ts";
import {
  claimedSchema,
  explainedSchema,
  itemSchema,
  partSchema,
  reasonSchema,
} from "./event-schema.ts";
import type { JsonBody } from "./event-view.ts";
import type { Inbox } from "./inbox.ts";

const tag = "events";

const byteCount = (min: number) =>
  z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text),
    z
      .int("must be an integer")
      .min(min, `must be at least ${min}`)
      .max(25 * 1024 * 1024, "must be at most 26214400"),
  );
const maxBytes = byteCount(1);
const offset = byteCount(0);

const worker = z
  .string()
  .regex(/^[\w.-]{1,100}$/, "must have 1 to 100 letters, digits, dots, hyphens or underscores")
  .describe("Distinguishes workers that use the same token: only this worker holds the claim.");
const seconds = (min: number) =>
  z
    .int("must be an integer")
    .min(min, `must be at least ${min}`)
    .max(86_400, "must be at most 86400");

/** Returns the owner of a claim. The ids of tokens contain no slash, so owners are distinct. */
const ownerOf = (token: string, worker: string | undefined): string =>
  worker === undefined ? token : `${token}/${worker}`;

const jsonResponse = (json: JsonBody): Response =>
  new Response(json, { headers: { "content-type": "application/json", ...NO_STORE } });

export const eventResponse = itemSchema.extend(partSchema.shape);

export const explanationPage = pageOf(
  explainedSchema.extend({ reasons: z.array(reasonSchema) }),
).extend({
  total: z.int().describe("The number of triggers on all pages. Above 1000, it is a lower bound."),
  started: z.int().describe("The number of triggers that started a run."),
});

export function eventRoutes(inbox: Inbox, explainer: Explainer): Route[] {
  return [
    ...eventListRoutes(inbox, explainer),
    defineRoute({
      method: "get",
      path: "/api/events/:event",
      summary: "Get an event with its payload, or with a part of it",
      tag,
      scope: "inbox:read",
      query: z.strictObject({
        path: z
          .string()
          .max(1_000)
          .optional()
          .describe("Only the value at this path of the payload, such as issue.labels[].name."),
        max_bytes: maxBytes
          .optional()
          .describe(
            "A larger payload is `truncated`: `payload` is a slice of its JSON, of at most 256 KiB. Read the next slice with `offset`.",
          ),
        offset: offset
          .optional()
          .describe(
            "Where in the JSON the slice starts, in bytes: the `next_offset` of the previous slice.",
          ),
      }),
      response: { status: 200, schema: eventResponse },
      async handle({ tenant, param, query: { path, offset, max_bytes }, reserveBytes }) {
        const options = { path, offset, maxBytes: max_bytes };
        return jsonResponse(await inbox.getItem([tenant], param("event"), options, reserveBytes));
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/events/:event/headers",
      summary: "Get the stored headers of an event, and the size of its payload",
      tag,
      scope: "inbox:read",
      response: {
        status: 200,
        schema: z.object({
          content_type: z.string(),
          headers: z.record(z.string(), z.string()),
          size: z.int().describe("The size of the payload in bytes."),
        }),
      },
      async handle({ tenant, param }) {
        return {
          json: await inbox.getHeaders(await inbox.find([tenant], param("event"), "event_id")),
        };
      },
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
      summary: "End a claim, so that others can claim the event: immediately, or after a delay",
      tag,
      scope: "inbox:write",
      body: z.strictObject({
        worker: worker.optional(),
        delay_s: seconds(0)
          .optional()
          .describe("The event cannot be claimed for this number of seconds."),
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
          const { already } = await inbox.markClaimedProcessed(
            [tenant],
            owner,
            id,
            body.note ?? null,
          );
          return { json: { id, already } };
        }
        const { alreadyProcessed } = await inbox.markProcessed([tenant], [id], body.note ?? null);
        return { json: { id, already: alreadyProcessed.includes(id) } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/events/:event/waiting",
      summary: "Make a processed event pending again",
      tag,
      scope: "inbox:write",
      response: { status: 200, schema: z.object({ id: z.string(), already: z.boolean() }) },
      async handle({ tenant, param }) {
        const { id } = await inbox.find([tenant], param("event"), "event_id");
        const { reopened } = await inbox.reopen(tenant, [id]);
        return { json: { id, already: reopened.length === 0 } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/events/:event/replay",
      summary:
        "Evaluate the triggers of all flows, of one flow, or one trigger, again for an event",
      tag,
      scope: "flows:call",
      body: z
        .strictObject({
          flow: z.string().min(1).max(100).optional(),
          trigger: z
            .string()
            .min(1)
            .max(100)
            .optional()
            .describe("The id of a trigger node of `flow`. Without it, all triggers of the flow."),
        })
        .refine(({ flow, trigger }) => trigger === undefined || flow !== undefined, {
          path: ["flow"],
          message: "is required with trigger: send the id of the trigger's flow",
        }),
      response: {
        status: 202,
        schema: z.object({
          runs: z.array(z.object({ run_id: z.string(), flow_id: z.string() })),
          considered: z.int(),
        }),
      },
      async handle({ tenant, param, body }) {
        const { id } = await inbox.find([tenant], param("event"), "event_id");
        return { status: 202, json: await explainer.replay(tenant, id, body) };
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/events/:event/explain",
      summary:
        "Explain which triggers matched an event, and why: first those that matched, then the nearest misses, then the others",
      tag,
      scope: "inbox:read",
      query: z.strictObject({
        limit: limitWithDefault(50),
        cursor: z.string().max(1_000).optional().describe("`next_cursor` of the previous page."),
        flow: z
          .string()
          .min(1)
          .max(100)
          .optional()
          .describe("Only the triggers of this flow, by its id."),
      }),
      response: { status: 200, schema: explanationPage },
      async handle({ tenant, param, query }) {
        const { id } = await inbox.find([tenant], param("event"), "event_id");
        const { cursors: _, ...json } = await explainer.explain(tenant, id, query);
        return { json };
      },
    }),
  ];
}
