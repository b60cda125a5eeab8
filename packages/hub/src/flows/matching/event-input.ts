/**
 * Converts an event to the input of a run, the value of `{{ trigger }}`, and reads its causation
 * chain.
 */
import type { MaybeLarge } from "@signalbox/rules/large-json.ts";
import type { EventRow, NewEvent } from "../../events/model.ts";
import type { Payload } from "../../kernel/store/packs.ts";
import type { Store } from "../../store.ts";
import type { Run } from "../runs/model.ts";

/** The source of events that flows emit. */
export const OWN_SOURCE = "signalbox";
export const DEPTH_HEADER = "signalbox-depth";
export const RUN_HEADER = "signalbox-run";
/** A JSON array of the flows whose runs caused the event, oldest first. */
export const CHAIN_HEADER = "signalbox-chain";

type EventFields = Pick<
  EventRow,
  "id" | "source" | "source_id" | "external_id" | "type" | "received_at"
>;

export const eventInput = <Data extends MaybeLarge>(event: EventFields, data: Data) => ({
  id: event.id,
  source: event.source,
  external_id: event.external_id,
  type: event.type,
  received_at: new Date(event.received_at).toISOString(),
  data,
});

/** The causation chain of an event. An event that no flow emitted starts a new chain. */
export const causesOf = ({
  source,
  headers,
}: Pick<NewEvent, "source" | "headers">): { depth: number; chain: string[] } =>
  source === OWN_SOURCE
    ? {
        depth: Number(headers[DEPTH_HEADER] ?? 0),
        chain: JSON.parse(headers[CHAIN_HEADER] ?? "[]"),
      }
    : { depth: 0, chain: [] };

/** The chain for runs and events that a run causes: its own chain and its flow. */
export const chainFrom = ({ chain, flow_id }: Pick<Run, "chain" | "flow_id">): string[] => [
  ...chain,
  flow_id,
];

/** Finds a stored event with its unparsed payload; see `loadPayload`. */
export async function findEvent(
  store: Pick<Store, "getEvent" | "getPayload">,
  tenant: string,
  id: string,
): Promise<{ event: EventRow; payload: Payload } | undefined> {
  const event = await store.getEvent(tenant, id);
  const payload = event && (await store.getPayload(tenant, event.seq));
  return payload && { event, payload };
}
