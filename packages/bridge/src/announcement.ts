/** The messages of the channel: one per event, or a digest of many events. */
import { sanitizeText, truncate } from "./sanitize-text.ts";
import type { StreamEvent } from "./stream-event.ts";

export interface Announcement {
  content: string;
  /** Claude Code silently drops keys with characters other than letters, digits and underscores. */
  meta: Record<string, string>;
}

const MAX_CONTENT = 600;
const MAX_TITLE = 200;
const MAX_KINDS = 8;

const short = (text: string) => sanitizeText(text, 60);

export function announceEvent(event: StreamEvent): Announcement {
  const { id, type, source, repo, action, title, sender, number, receivedAt } = event;
  const what = [short(type), action && short(action)].filter(Boolean).join(" ");
  const where = repo ?? source;
  const first = [
    what,
    where && `in ${sanitizeText(where, 140)}`,
    sender && `by ${short(sender)}`,
  ].filter(Boolean);
  const second = [number !== null && `#${number}`, title && `"${sanitizeText(title, MAX_TITLE)}"`];
  const lines = [first.join(" "), second.filter(Boolean).join(" ")];
  return {
    content: truncate(lines.filter(Boolean).join("\n"), MAX_CONTENT),
    meta: {
      chat_id: sanitizeText(where ?? "signalbox", 140),
      message_id: short(id),
      user: short(sender ?? ""),
      ts: short(receivedAt),
    },
  };
}

/** Events of a digest, counted by kind: type and repository. */
export interface Tally {
  count: number;
  kinds: Map<string, number>;
  last: StreamEvent;
}

export function addToTally(tally: Tally | undefined, event: StreamEvent): Tally {
  const where = event.repo ?? event.source;
  const kind = `${short(event.type)}${where ? ` in ${sanitizeText(where, 100)}` : ""}`;
  const kinds = tally?.kinds ?? new Map<string, number>();
  // Senders choose the names, so the number of distinct kinds must be bounded.
  if (kinds.has(kind) || kinds.size < 1_000) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return { count: (tally?.count ?? 0) + 1, kinds, last: event };
}

export function announceBacklog(tally: Tally): Announcement {
  return digest(
    tally,
    `${tally.count} events arrived while no client was connected`,
    "list_pending_events returns them.",
  );
}

export function announceReminder(tally: Tally): Announcement {
  const [events, are] = tally.count === 1 ? ["event was", "is"] : ["events were", "are"];
  return digest(
    tally,
    `${tally.count} ${events} announced a while ago and ${are} not marked processed`,
    "list_pending_events returns them; call mark_processed when they are done.",
  );
}

/** Reports that events or the whole log were deleted, so announcements may be missing. */
export function announceGap(at: number): Announcement {
  return {
    content:
      "Events may be missing from this channel: the hub no longer has all events after the last announced one.\n" +
      "list_pending_events returns the pending events.",
    meta: {
      chat_id: "signalbox",
      message_id: "",
      user: "signalbox",
      ts: new Date(at).toISOString(),
    },
  };
}

function digest({ count, kinds, last }: Tally, opening: string, closing: string): Announcement {
  const byCount = [...kinds].sort(([, a], [, b]) => b - a);
  let listed = byCount.slice(0, MAX_KINDS);
  const format = () => {
    const counted = listed.reduce((sum, [, times]) => sum + times, 0);
    const parts = listed.map(([kind, times]) => `${times} ${kind}`);
    if (counted < count) parts.push(`${count - counted} others`);
    return `${opening}: ${parts.join(", ")}.\n${closing}`;
  };
  while (listed.length > 1 && format().length > MAX_CONTENT) listed = listed.slice(0, -1);
  return {
    content: truncate(format(), MAX_CONTENT),
    meta: {
      chat_id: "signalbox",
      message_id: short(last.id),
      user: "signalbox",
      ts: short(last.receivedAt),
      count: String(count),
    },
  };
}
