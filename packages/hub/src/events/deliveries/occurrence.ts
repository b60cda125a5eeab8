/** Converts events to the format that all subscribers get. */

import { utf8 } from "../../kernel/lib/bytes.ts";
import type { Store } from "../../store.ts";
import { MAX_BODY_BYTES, type Occurrence } from "../mcp-events/protocol.ts";
import type { EventRow } from "../model.ts";
import { readPayload } from "../sources/read-payload.ts";
import { eventName } from "./event-filter.ts";

/** Includes the payload unless the occurrence would exceed the size limit of a webhook. */
export async function toOccurrence(
  store: Pick<Store, "getPayload">,
  event: EventRow,
  cursor: string,
): Promise<Occurrence> {
  const withoutPayload: Occurrence = {
    eventId: eventIdOf(event),
    name: eventName(event),
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
      ...event.check_result,
    },
    cursor,
  };
  const stored =
    event.size <= MAX_BODY_BYTES ? await store.getPayload(event.tenant, event.seq) : undefined;
  if (stored) {
    const payload = readPayload(event.source, stored);
    const withPayload = { ...withoutPayload, data: { ...withoutPayload.data, payload } };
    if (utf8(JSON.stringify(withPayload)).byteLength <= MAX_BODY_BYTES) return withPayload;
  }
  return { ...withoutPayload, data: { ...withoutPayload.data, payload_omitted: true } };
}

/** The sender's id if it is valid in an HTTP header, else the hub's id. */
const eventIdOf = ({ id, external_id }: EventRow): string =>
  external_id !== null && /^[\x21-\x7e]{1,256}$/.test(external_id) ? external_id : id;
