/** Filters events: for lists, and for the selection of a bulk action. */
import type { EventOutcome } from "@signalbox/contract/events.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { type Inbox, MAX_SCANS } from "./inbox.ts";

export interface EventFilter {
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
export function listFiltered(
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
