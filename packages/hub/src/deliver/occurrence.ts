/** An event as subscribers get it, whichever way it reaches them. */
import { readPayload } from "../ingest/sources/read-payload.ts";
import { utf8 } from "../lib/hmac.ts";
import type { EventRow, Store } from "../store/store.ts";
import { MAX_BODY_BYTES, type Occurrence } from "./events-draft.ts";
import { nameOf } from "./wanted.ts";

/** With its payload where the whole stays small enough for a webhook. */
export async function toOccurrence(
  store: Pick<Store, "getPayload">,
  event: EventRow,
  cursor: string,
): Promise<Occurrence> {
  const bare: Occurrence = {
    eventId: eventIdOf(event),
    name: nameOf(event),
    timestamp: new Date(event.received_at).toISOString(),
    data: {
      event_id: event.id,
      seq: event.seq,
      source: event.source,
      type: event.type,
      received_at: new Date(event.received_at).toISOString(),
      action: event.action,
      repo: event.repo,
      sender: event.sender,
      number: event.number,
      title: event.title,
      url: event.url,
    },
    cursor,
  };
  const stored =
    event.size <= MAX_BODY_BYTES ? await store.getPayload(event.tenant, event.seq) : undefined;
  if (stored) {
    const payload = readPayload(event.source, stored);
    const whole = { ...bare, data: { ...bare.data, payload } };
    if (utf8(JSON.stringify(whole)).byteLength <= MAX_BODY_BYTES) return whole;
  }
  return { ...bare, data: { ...bare.data, payload_omitted: true } };
}

/** It goes into a header: an id that does not fit there gives way to our own. */
const eventIdOf = ({ id, external_id }: EventRow): string =>
  external_id !== null && /^[\x21-\x7e]{1,256}$/.test(external_id) ? external_id : id;
