/** Previews which events a trigger would match, before it is published. */
import { MAX_PREVIEWED, triggerApi } from "@signalbox/contract/triggers.ts";
import { itemView } from "../../events/inbox/event-view.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import type { Explainer } from "./explain.ts";

const MAX_BYTES = 16 * 1024 * 1024;

export const triggerRoutes = (explainer: Pick<Explainer, "test">): Route[] => [
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
