/** `events/poll`. It is stateless: the client's cursor is the only state. */
import type { z } from "zod";
import { toOccurrence } from "../deliveries/occurrence.ts";
import { findStart, readLog } from "../deliveries/read-log.ts";
import { encodeCursor } from "../inbox/cursor.ts";
import type { EventsContext, EventsRequestContext } from "./context.ts";
import { findType } from "./event-types.ts";
import { MAX_BODY_BYTES, type Occurrence, type pollParams } from "./protocol.ts";

/** A page ends early, with `hasMore`, when its payloads exceed this size. */
const MAX_BYTES = 4 * 1024 * 1024;
const NEXT_POLL_MS = 5_000;

export async function pollEvents(
  { store, now }: Pick<EventsContext, "store" | "now">,
  { access: { tenants }, reserveBytes }: EventsRequestContext,
  params: z.infer<typeof pollParams>,
) {
  const filter = await findType(store, tenants, params.name, params.arguments);
  const notBefore = params.maxAgeMs === undefined ? undefined : now() - params.maxAgeMs;
  const { from, truncated, logId } = await findStart(store, tenants, params.cursor, notBefore);
  const { matches, end, hasMore } =
    params.cursor === null
      ? { matches: [], end: from, hasMore: false }
      : await readLog(store, {
          tenants,
          after: from,
          filter,
          limit: params.maxEvents,
          maxBytes: MAX_BYTES,
        });
  await reserveBytes(
    matches.reduce((sum, { event }) => sum + Math.min(event.size, MAX_BODY_BYTES), 0),
  );
  const events: Occurrence[] = [];
  for (const { event, cursor } of matches)
    events.push(await toOccurrence(store, event, encodeCursor(cursor, tenants, logId)));
  return {
    events,
    cursor: encodeCursor(end, tenants, logId),
    truncated,
    hasMore,
    nextPollMs: hasMore ? 0 : NEXT_POLL_MS,
  };
}
