import type { StreamedEvent } from "@signalbox/contract";

type Unchecked<Fields> = { [Name in keyof Fields]?: unknown };

/** An event as sent by the hub's live stream. */
export interface StreamEvent {
  id: string;
  type: string;
  source: string | null;
  repo: string | null;
  action: string | null;
  title: string | null;
  sender: string | null;
  number: number | null;
  receivedAt: string;
  processed: boolean;
}

/** Returns undefined for other messages, such as a heartbeat. */
export function readStreamEvent(data: unknown): StreamEvent | undefined {
  const event: Unchecked<StreamedEvent> = isRecord(data) ? data : {};
  if (typeof event.event_id !== "string") return undefined;
  const summary: Unchecked<StreamedEvent["summary"]> = isRecord(event.summary) ? event.summary : {};
  return {
    id: event.event_id,
    type: textOrNull(event.type) ?? "event",
    source: textOrNull(event.source),
    repo: textOrNull(summary.repo),
    action: textOrNull(summary.action),
    title: textOrNull(summary.title),
    sender: textOrNull(summary.sender),
    number: typeof summary.number === "number" ? summary.number : null,
    receivedAt: textOrNull(summary.received_at) ?? "",
    processed: summary.processed === true,
  };
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOrNull = (value: unknown) => (typeof value === "string" && value !== "" ? value : null);
