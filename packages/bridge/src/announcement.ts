/** What the channel says: one message for an event, or one for many of them. */
import { cap, cleanText } from "./clean-text.ts";
import type { StreamEvent } from "./stream-event.ts";

export interface Announcement {
  content: string;
  /** Claude Code drops keys with anything but letters, digits and underscores, without a word. */
  meta: Record<string, string>;
}

const MOST_CONTENT = 600;
const MOST_TITLE = 200;
const MOST_KINDS = 8;

const short = (text: string) => cleanText(text, 60);

export function announceEvent(event: StreamEvent): Announcement {
  const { id, type, source, repo, action, title, sender, number, receivedAt } = event;
  const what = [short(type), action && short(action)].filter(Boolean).join(" ");
  const where = repo ?? source;
  const first = [
    what,
    where && `in ${cleanText(where, 140)}`,
    sender && `by ${short(sender)}`,
  ].filter(Boolean);
  const second = [number !== null && `#${number}`, title && `"${cleanText(title, MOST_TITLE)}"`];
  const lines = [first.join(" "), second.filter(Boolean).join(" ")];
  return {
    content: cap(lines.filter(Boolean).join("\n"), MOST_CONTENT),
    meta: {
      chat_id: cleanText(where ?? "signalbox", 140),
      message_id: short(id),
      user: short(sender ?? ""),
      ts: short(receivedAt),
    },
  };
}

/** Events that are told of together, counted by what and where: its size does not grow with them. */
export interface Tally {
  count: number;
  kinds: Map<string, number>;
  last: StreamEvent;
}

export function addToTally(tally: Tally | undefined, event: StreamEvent): Tally {
  const where = event.repo ?? event.source;
  const kind = `${short(event.type)}${where ? ` in ${cleanText(where, 100)}` : ""}`;
  const kinds = tally?.kinds ?? new Map<string, number>();
  // Names are the strangers' choice: so many that each is new must not fill the memory.
  if (kinds.has(kind) || kinds.size < 1_000) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return { count: (tally?.count ?? 0) + 1, kinds, last: event };
}

export function announceBacklog(tally: Tally): Announcement {
  return digest(
    tally,
    `${tally.count} events came in while nobody was listening`,
    "list_pending_events shows them.",
  );
}

export function announceReminder(tally: Tally): Announcement {
  const [events, are] = tally.count === 1 ? ["event was", "is"] : ["events were", "are"];
  return digest(
    tally,
    `${tally.count} ${events} announced a while ago and ${are} not marked processed`,
    "list_pending_events shows them; mark_processed when they are dealt with.",
  );
}

/** Events are gone, or a whole log is: nothing can say which would have been announced. */
export function announceGap(at: number): Announcement {
  return {
    content:
      "Events may have come in that are not announced here: the hub no longer has all that followed the last one.\n" +
      "list_pending_events shows what waits.",
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
  let listed = byCount.slice(0, MOST_KINDS);
  const words = () => {
    const told = listed.reduce((sum, [, times]) => sum + times, 0);
    const parts = listed.map(([kind, times]) => `${times} ${kind}`);
    if (told < count) parts.push(`${count - told} others`);
    return `${opening}: ${parts.join(", ")}.\n${closing}`;
  };
  while (listed.length > 1 && words().length > MOST_CONTENT) listed = listed.slice(0, -1);
  return {
    content: cap(words(), MOST_CONTENT),
    meta: {
      chat_id: "signalbox",
      message_id: short(last.id),
      user: "signalbox",
      ts: short(last.receivedAt),
      count: String(count),
    },
  };
}
