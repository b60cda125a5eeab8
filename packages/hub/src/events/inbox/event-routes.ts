/** Routes of events: lists, changes and replays of many events, and single events. */

import {
  type EventOutcome,
  eventApi,
  eventListApi,
  MAX_MARKED,
  MAX_REPLAYED,
} from "@signalbox/contract/events.ts";
import { allows } from "../../kernel/access/scopes.ts";
import { implement, NO_STORE, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { itemView, type JsonBody } from "./event-view.ts";
import { type Inbox, MAX_SCANS } from "./inbox.ts";

/** Returns the owner of a claim. The ids of tokens contain no slash, so owners are distinct. */
const ownerOf = (token: string, worker: string | undefined): string =>
  worker === undefined ? token : `${token}/${worker}`;

const jsonResponse = (json: JsonBody): Response =>
  new Response(json, { headers: { "content-type": "application/json", ...NO_STORE } });

/** Starts the flows whose triggers match the event, and returns their runs. */
export type ReplayEvent = (tenant: string, event: string) => Promise<{ runs: readonly unknown[] }>;

export function eventRoutes(inbox: Inbox, replay: ReplayEvent): Route[] {
  return [
    ...eventListRoutes(inbox, replay),
    implement(
      eventApi.get,
      async ({ tenant, param, query: { path, offset, max_bytes }, reserveBytes }) => {
        const options = { path, offset, maxBytes: max_bytes };
        return jsonResponse(await inbox.getItem([tenant], param("event"), options, reserveBytes));
      },
    ),
    implement(eventApi.getHeaders, async ({ tenant, param }) => {
      return {
        json: await inbox.getHeaders(await inbox.find([tenant], param("event"), "event_id")),
      };
    }),
    implement(eventApi.claim, async ({ tenant, access, param, query, body, reserveBytes }) => {
      const json = await inbox.claimOne(
        [tenant],
        ownerOf(access.token, body.worker),
        param("event"),
        { leaseMs: body.lease_s * 1_000, payload: query.payload !== "0" },
        reserveBytes,
      );
      return jsonResponse(json);
    }),
    implement(
      eventApi.release,
      async ({ tenant, access, param, body: { worker, delay_s = 0, count_attempt } }) => {
        const id = param("event");
        await inbox.release([tenant], ownerOf(access.token, worker), id, {
          delayMs: delay_s * 1_000,
          uncounted: !count_attempt,
        });
        return { json: { id } };
      },
    ),
    implement(eventApi.markProcessed, async ({ tenant, access, param, body }) => {
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
    }),
    implement(eventApi.markWaiting, async ({ tenant, param }) => {
      const { id } = await inbox.find([tenant], param("event"), "event_id");
      const { reopened } = await inbox.reopen(tenant, [id]);
      return { json: { id, already: reopened.length === 0 } };
    }),
  ];
}

function eventListRoutes(inbox: Inbox, replayEvent: ReplayEvent): Route[] {
  return [
    implement(
      eventListApi.list,
      async ({ tenant, query: { limit, cursor, order, pending, claimable, ...filter } }) => {
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
    ),
    implement(
      eventListApi.changeMany,
      async ({ access, tenant, body: { action, filter, cursor, note, ids } }) => {
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
          if (name === "replay") return replay(replayEvent, inbox, tenant, ids);
          if (name === "waiting") {
            const { reopened, alreadyPending, unknown } = await inbox.reopen(tenant, ids);
            return { ids: reopened, unchanged: alreadyPending, unknown };
          }
          const { marked, alreadyProcessed, unknown } = await inbox.markInTenant(tenant, ids, note);
          return { ids: marked, unchanged: alreadyProcessed, unknown };
        }
      },
    ),
  ];
}

/** Reads pages of matching events until it has `max` ids, or until a page is empty. */
async function select(
  inbox: Inbox,
  tenant: string,
  filter: EventFilter,
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
  replayEvent: ReplayEvent,
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
      runs += (await replayEvent(tenant, id)).runs.length;
      replayed.push(id);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      (error.code === "busy" ? not_replayed : unknown).push(id);
    }
  return { ids: replayed, unknown, not_replayed, runs };
}

/** For lists, and for the selection of a bulk action. */
interface EventFilter {
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
  outcome?: EventOutcome | undefined;
  since?: string | undefined;
  until?: string | undefined;
  text?: string | undefined;
  pending?: boolean | undefined;
}

interface ListOptions {
  limit: number;
  cursor?: string | undefined;
  order?: "newest" | "oldest" | undefined;
  claimable?: boolean | undefined;
}

/** Lists events with a bounded cost. If a filter has no index, a page can have fewer events than `limit`. */
function listFiltered(
  inbox: Inbox,
  tenant: string,
  { source: origin, pending, outcome, since, until, text, ...filter }: EventFilter,
  { limit, cursor, order, claimable }: ListOptions,
) {
  if ([outcome, since, until, text].every((value) => value === undefined))
    return inbox.list([tenant], {
      ...filter,
      origin,
      pending,
      limit,
      cursor,
      order,
      claimable,
      maxScans: MAX_SCANS,
    });
  for (const [name, value] of Object.entries({ order: order === "oldest", claimable }))
    if (value)
      throw new RequestError(
        "invalid",
        name,
        "cannot be combined with text, outcome, since or until",
      );
  return inbox.searchFurther([tenant], {
    ...filter,
    origin,
    text,
    limit,
    cursor,
    status: outcome === "unmatched" ? null : outcome,
    from: since === undefined ? undefined : Date.parse(since),
    to: until === undefined ? undefined : Date.parse(until),
    processed: pending === undefined ? undefined : !pending,
  });
}
