/** Routes of single events: get, claim, release, mark as processed. */
import { eventApi } from "@signalbox/contract/events.ts";
import { implement, NO_STORE, type Route } from "../../kernel/http/route.ts";
import { eventListRoutes, type ReplayEvent } from "./event-list-routes.ts";
import type { JsonBody } from "./event-view.ts";
import type { Inbox } from "./inbox.ts";

/** Returns the owner of a claim. The ids of tokens contain no slash, so owners are distinct. */
const ownerOf = (token: string, worker: string | undefined): string =>
  worker === undefined ? token : `${token}/${worker}`;

const jsonResponse = (json: JsonBody): Response =>
  new Response(json, { headers: { "content-type": "application/json", ...NO_STORE } });

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
