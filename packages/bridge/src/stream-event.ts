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
  if (!isRecord(data) || typeof data.event_id !== "string") return undefined;
  const summary = isRecord(data.summary) ? data.summary : {};
  return {
    id: data.event_id,
    type: textOrNull(data.type) ?? "event",
    source: textOrNull(data.source),
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
