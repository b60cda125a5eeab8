/** Routes that explain the outcome of an event, and replay it. */
import { eventApi } from "@signalbox/contract/events.ts";
import type { Inbox } from "../../events/inbox/inbox.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import type { Explainer } from "./explain.ts";

export function explainRoutes(inbox: Pick<Inbox, "find">, explainer: Explainer): Route[] {
  return [
    implement(eventApi.replay, async ({ tenant, param, body }) => {
      const { id } = await inbox.find([tenant], param("event"), "event_id");
      return { json: await explainer.replay(tenant, id, body) };
    }),
    implement(eventApi.explain, async ({ tenant, param, query }) => {
      const { id } = await inbox.find([tenant], param("event"), "event_id");
      const { cursors: _, ...json } = await explainer.explain(tenant, id, query);
      return { json };
    }),
  ];
}
