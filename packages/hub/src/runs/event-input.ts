/** An event as flows see it: what `{{ trigger }}` stands for, and what filters read. */
import { readPayload } from "../ingest/sources/read-payload.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { EventRow, NewEvent, Payload, Store } from "../store/store.ts";

/** The source of events that flows emit. */
export const OWN_SOURCE = "signalbox";
export const DEPTH_HEADER = "signalbox-depth";
export const RUN_HEADER = "signalbox-run";

type SeenEvent = Pick<
  EventRow,
  "id" | "source" | "source_id" | "external_id" | "type" | "received_at"
>;

const eventInput = (event: SeenEvent, data: Json): JsonObject => ({
  id: event.id,
  source: event.source,
  external_id: event.external_id,
  type: event.type,
  received_at: new Date(event.received_at).toISOString(),
  data,
});

export const dataOf = (source: string, payload: Payload): Json =>
  readPayload(source, payload) as Json;

/** How many runs and events led to it; whoever sends one from outside begins a chain. */
export const depthOf = ({ source, headers }: Pick<NewEvent, "source" | "headers">): number =>
  source === OWN_SOURCE ? Number(headers[DEPTH_HEADER] ?? 0) : 0;

/** Reads a stored event again, with its payload. */
export async function loadEvent(
  store: Pick<Store, "getEvent" | "getPayload">,
  tenant: string,
  id: string,
): Promise<{ event: EventRow; payload: Payload; input: JsonObject } | undefined> {
  const event = await store.getEvent(tenant, id);
  const payload = event && (await store.getPayload(tenant, event.seq));
  if (!payload) return undefined;
  return { event, payload, input: eventInput(event, dataOf(event.source, payload)) };
}
