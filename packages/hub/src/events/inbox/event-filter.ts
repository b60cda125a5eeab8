/** The filters for events: query parameters of lists, and the selection of a bulk action. */
import { z } from "zod";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { EVENT_OUTCOMES, type EventOutcome } from "./event-view.ts";
import { type Inbox, MAX_SCANS } from "./inbox.ts";

const text = z.string().max(200, "must have at most 200 characters");
const time = z.iso.datetime({
  offset: true,
  error: "must be a time such as 2026-11-15T12:00:00Z",
});

export const filterFields = {
  type: text.optional().describe("Only events of this type."),
  repo: text.optional().describe("Only events of this repository, as owner/name."),
  source: text
    .optional()
    .describe("Only events of this source, or of the endpoint or connection with this id."),
  outcome: z
    .enum(EVENT_OUTCOMES, `must be one of ${EVENT_OUTCOMES.join(", ")}`)
    .optional()
    .describe("Only events whose runs have this state; `unmatched`: events that started no run."),
  since: time.optional().describe("Only events received at this time or later."),
  until: time.optional().describe("Only events received at this time or earlier."),
  text: text
    .min(1, "must not be empty")
    .optional()
    .describe("Text in the type, action, repo, sender, title, url or delivery id."),
};

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
