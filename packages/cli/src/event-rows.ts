/** Formats events for a terminal: as a list with one line for each event, or one event with its payload. */
import type { EventSummary, StoredEvent } from "@signalbox/contract/events.ts";
import { eventName } from "@signalbox/contract/events.ts";
import { bold, dim } from "./style.ts";
import { clip, pad, toPrintable } from "./text-layout.ts";

/** `terminalWidth` is in columns, and undefined if the output is not a terminal: then nothing is cut. */
export function createEventRows(terminalWidth: number | undefined, now = () => new Date()) {
  const limit = terminalWidth ?? Number.POSITIVE_INFINITY;
  const fixedWidths = [5, 11, 4] as const;
  const fixedTotal = fixedWidths.reduce((sum, width) => sum + width + GAP.length, 0);
  // The columns EVENT, FROM and TITLE share the remaining width.
  const remaining = limit - fixedTotal - 2 * GAP.length;
  const eventWidth = Math.max(8, Math.min(30, Math.floor(remaining * 0.4)));
  const fromWidth = Math.max(6, Math.min(24, Math.floor(remaining * 0.28)));
  const titleWidth = Math.max(4, remaining - eventWidth - fromWidth);
  const widths = [...fixedWidths, eventWidth, fromWidth, titleWidth];
  const row = (cells: readonly string[]) =>
    cells
      .map((cell, at) => {
        const text = terminalWidth === undefined ? cell : clip(cell, widths[at] as number);
        return at === cells.length - 1 ? text : pad(text, widths[at] as number);
      })
      .join(GAP)
      .trimEnd();
  return {
    header: (): string => bold(row(["SEQ", "RECEIVED", "DONE", "EVENT", "FROM", "TITLE"])),
    row: (event: EventSummary): string => {
      const number = event.number === null ? "" : `#${event.number}`;
      const text = row([
        String(event.seq),
        localTime(event.received_at, now()),
        event.processed ? "✓" : "",
        toPrintable(eventName(event)),
        toPrintable(event.repo ?? event.sender ?? ""),
        toPrintable([number, event.title].filter(Boolean).join(" ")),
      ]);
      return event.processed ? dim(text) : text;
    },
  };
}

const GAP = "  ";

/** Formats a time in the time zone of the terminal: `00:53:10` if it is today, else `11-16 00:53`. */
function localTime(iso: string, now: Date): string {
  const at = new Date(iso);
  const joinPadded = (separator: string, ...parts: number[]) =>
    parts.map((part) => String(part).padStart(2, "0")).join(separator);
  return at.toDateString() === now.toDateString()
    ? joinPadded(":", at.getHours(), at.getMinutes(), at.getSeconds())
    : `${joinPadded("-", at.getMonth() + 1, at.getDate())} ${joinPadded(":", at.getHours(), at.getMinutes())}`;
}

export function describeEvent(event: StoredEvent): string {
  const lines: [string, string | null][] = [
    ["Event", event.id],
    ["Seq", String(event.seq)],
    ["Type", `${event.source}.${event.type}`],
    ["Received", event.received_at],
    ["State", stateOf(event)],
    ["Attempts", event.attempts === 0 ? null : String(event.attempts)],
    ["Note", event.note],
    ["Runs", event.trigger_status],
    ["Delivery", event.external_id],
  ];
  const fields = lines.flatMap(([label, value]) =>
    value === null ? [] : [`${dim(label.padEnd(9))} ${toPrintable(value)}`],
  );
  return [...fields, "", escapeControls(JSON.stringify(event.payload, null, 2))].join("\n");
}

function stateOf({ processed, processed_at, claimed_by, claimed_until }: StoredEvent): string {
  if (processed) return `processed at ${processed_at}`;
  if (claimed_until === null) return "pending";
  return claimed_by === null
    ? `pending, cannot be claimed before ${claimed_until}`
    : `pending, claimed by ${claimed_by} until ${claimed_until}`;
}

/** Escapes the characters that control a terminal and that `JSON.stringify` does not escape. */
const escapeControls = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`,
  );
