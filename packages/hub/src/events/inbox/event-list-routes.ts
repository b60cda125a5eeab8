/** Routes that list events, and that change or replay many events. */
import { z } from "zod";
import type { Explainer } from "../../flows/matching/explain.ts";
import { allows } from "../../kernel/access/authorizer.ts";
import { limitQuery, pageOf } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { filterFields, listFiltered } from "./event-filter.ts";
import { itemSchema } from "./event-schema.ts";
import { itemView } from "./event-view.ts";
import type { Inbox } from "./inbox.ts";

const tag = "events";

const listQuery = z.strictObject({
  limit: limitQuery,
  cursor: z.string().optional().describe("`next_cursor` of the previous page."),
  order: z.enum(["newest", "oldest"], "must be newest or oldest").optional(),
  ...filterFields,
  pending: z.enum(["0", "1"], "must be 0 or 1").optional(),
  claimable: z
    .enum(["1"], "must be 1")
    .optional()
    .describe("1: only pending events that no worker or agent has claimed."),
});

/** The maximum number of events that one bulk action marks. */
const MAX_MARKED = 500;
/** Lower, because a replay evaluates all triggers for each event. */
const MAX_REPLAYED = 50;

const bulkBody = z.strictObject({
  action: z
    .enum(["processed", "waiting", "replay"], "must be processed, waiting or replay")
    .describe("`waiting` makes processed events pending again."),
  ids: z.array(z.string().max(100)).min(1).max(MAX_MARKED).optional(),
  filter: z
    .strictObject({ ...filterFields, pending: z.boolean().optional() })
    .optional()
    .describe("Instead of ids: the newest events that match."),
  cursor: z
    .string()
    .optional()
    .describe("Only with a filter: `next_cursor` of the previous response."),
  note: z.string().max(1_000).optional().describe("Stored with processed events."),
});

export const bulkResult = z.object({
  ids: z
    .array(z.string())
    .describe(
      "The events that were changed or replayed. To undo a mark, send the opposite action with these ids.",
    ),
  unchanged: z.array(z.string()).describe("The events that already had the requested state."),
  unknown: z.array(z.string()).describe("Ids that match no event."),
  not_replayed: z
    .array(z.string())
    .describe("Events that the hub was too busy to replay. Send their ids again later."),
  runs: z.int().describe("The number of runs that a replay has started."),
  next_cursor: z
    .string()
    .nullable()
    .describe(
      "Send it as `cursor` for further events that match the filter; null if there are none.",
    ),
});

export function eventListRoutes(inbox: Inbox, explainer: Pick<Explainer, "replay">): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/events",
      summary: "List events, newest first; filters can be combined",
      tag,
      scope: "inbox:read",
      query: listQuery,
      response: { status: 200, schema: pageOf(itemSchema) },
      async handle({ tenant, query: { limit, cursor, order, pending, claimable, ...filter } }) {
        if (claimable && pending === "0")
          throw new RequestError("invalid", "claimable", "cannot be combined with pending=0");
        const isPending = claimable ? true : pending === undefined ? undefined : pending === "1";
        const { events, next_cursor } = await listFiltered(
          inbox,
          tenant,
          { ...filter, pending: isPending },
          { limit, cursor, order, claimable: claimable !== undefined },
        );
        return { json: { items: events.map(itemView), next_cursor } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/events/bulk",
      summary: `Mark up to ${MAX_MARKED} events as processed or waiting, or replay up to ${MAX_REPLAYED}`,
      tag,
      scope: "inbox:write",
      body: bulkBody,
      response: { status: 200, schema: bulkResult },
      async handle({ access, tenant, body: { action, filter, cursor, note, ids } }) {
        if ((ids === undefined) === (filter === undefined))
          throw new RequestError("invalid", "ids", "send either ids or a filter");
        if (cursor !== undefined && filter === undefined)
          throw new RequestError("invalid", "cursor", "can be sent with a filter only");
        const max = action === "replay" ? MAX_REPLAYED : MAX_MARKED;
        if (ids && ids.length > max)
          throw new RequestError("invalid", "ids", `must have at most ${max} items`);
        if (action === "replay" && !allows(access, "flows:call"))
          throw new RequestError("forbidden", "action", "replay requires the scope flows:call");
        // With a filter, an action that marks events selects only events that it changes: `processed` the
        // pending events, `waiting` the processed events.
        const pending = action === "replay" ? filter?.pending : action === "processed";
        const isContradiction = filter?.pending !== undefined && filter.pending !== pending;
        const selection =
          filter && !isContradiction
            ? await select(inbox, tenant, { ...filter, pending }, { max, cursor })
            : undefined;
        const uniqueIds = [...new Set(ids ?? selection?.ids ?? [])];
        const result = await perform(action, uniqueIds, note ?? null);
        return {
          json: {
            unchanged: [],
            not_replayed: [],
            runs: 0,
            ...result,
            next_cursor: selection?.cursor ?? null,
          },
        };

        async function perform(name: typeof action, ids: string[], note: string | null) {
          if (name === "replay") return replay(explainer, inbox, tenant, ids);
          if (name === "waiting") {
            const { reopened, alreadyPending, unknown } = await inbox.reopen(tenant, ids);
            return { ids: reopened, unchanged: alreadyPending, unknown };
          }
          const { marked, alreadyProcessed, unknown } = await inbox.markInTenant(tenant, ids, note);
          return { ids: marked, unchanged: alreadyProcessed, unknown };
        }
      },
    }),
  ];
}

/** Reads pages of matching events until it has `max` ids, or until a page is empty. */
async function select(
  inbox: Inbox,
  tenant: string,
  filter: Parameters<typeof listFiltered>[2],
  { max, cursor }: { max: number; cursor: string | undefined },
): Promise<{ ids: string[]; cursor: string | undefined }> {
  const ids: string[] = [];
  do {
    const page = await listFiltered(inbox, tenant, filter, { limit: max - ids.length, cursor });
    ids.push(...page.events.map(({ id }) => id));
    cursor = page.next_cursor ?? undefined;
    if (page.events.length === 0) break;
  } while (cursor !== undefined && ids.length < max);
  return { ids, cursor };
}

async function replay(
  explainer: Pick<Explainer, "replay">,
  inbox: Inbox,
  tenant: string,
  ids: readonly string[],
) {
  const replayed: string[] = [];
  const unknown: string[] = [];
  const not_replayed: string[] = [];
  let runs = 0;
  for (const id of ids)
    try {
      await inbox.find([tenant], id, "ids");
      runs += (await explainer.replay(tenant, id)).runs.length;
      replayed.push(id);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      (error.code === "busy" ? not_replayed : unknown).push(id);
    }
  return { ids: replayed, unknown, not_replayed, runs };
}
