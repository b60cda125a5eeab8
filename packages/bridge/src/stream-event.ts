/** An event as the hub's live stream tells of it. */
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

/** Undefined for what tells of no event, such as a heartbeat. */
export function readStreamEvent(data: unknown): StreamEvent | undefined {
  if (!isRecord(data) || typeof data.event_id !== "string") return undefined;
  const summary = isRecord(data.summary) ? data.summary : {};
  return {
    id: data.event_id,
    type: word(data.type) ?? "event",
    source: word(data.source),
    repo: word(summary.repo),
    action: word(summary.action),
    title: word(summary.title),
    sender: word(summary.sender),
    number: typeof summary.number === "number" ? summary.number : null,
    receivedAt: word(summary.received_at) ?? "",
    processed: summary.processed === true,
  };
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const word = (value: unknown) => (typeof value === "string" && value !== "" ? value : null);
