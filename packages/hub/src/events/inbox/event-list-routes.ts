/** Routes that list events, and that change or replay many events. */
import { eventListApi, MAX_MARKED, MAX_REPLAYED } from "@signalbox/contract/events.ts";
import { allows } from "../../kernel/access/authorizer.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { listFiltered } from "./event-filter.ts";
import { itemView } from "./event-view.ts";
import type { Inbox } from "./inbox.ts";

/** Starts the flows whose triggers match the event, and returns their runs. */
export type ReplayEvent = (tenant: string, event: string) => Promise<{ runs: readonly unknown[] }>;

export function eventListRoutes(inbox: Inbox, replayEvent: ReplayEvent): Route[] {
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
