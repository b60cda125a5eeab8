/** Routes that explain the outcome of an event, replay it, and preview which events a trigger would match. */
import { eventApi } from "@signalbox/contract/events.ts";
import { MAX_PREVIEWED, triggerApi } from "@signalbox/contract/triggers.ts";
import { itemView } from "../../events/inbox/event-view.ts";
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
    ...triggerRoutes(explainer),
  ];
}

const MAX_BYTES = 16 * 1024 * 1024;

/** Previews which events a trigger would match, before it is published. */
const triggerRoutes = (explainer: Pick<Explainer, "test">): Route[] => [
  implement(triggerApi.preview, async ({ tenant, body, reserveBytes }) => {
    const { type, ...conditions } = body;
    await reserveBytes(MAX_BYTES);
    const { tested, compared, found } = await explainer.test(
      tenant,
      { ...conditions, ...(type !== undefined && { type }) },
      { limit: MAX_PREVIEWED, maxBytes: MAX_BYTES },
    );
    return {
      json: {
        matched: tested.filter(({ matched }) => matched).length,
        of: tested.length,
        compared,
        basis: { source: body.source, type: type?.trim() || null, found },
        events: tested.map(({ event, ...verdict }) => ({ event: itemView(event), ...verdict })),
      },
    };
  }),
];
