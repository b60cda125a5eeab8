/** Events as lines of a terminal: one line for each event in a list, or one event with its payload. */
import { type EventView, eventName, type SummaryView } from "../../inbox/event-view.ts";
import { bold, dim } from "./style.ts";
import { clip, pad, printable } from "./text-layout.ts";

/** `width`: the columns of the terminal; undefined if the output is not a terminal. */
export function createEventRows(width: number | undefined, now = () => new Date()) {
  const limit = width ?? Number.POSITIVE_INFINITY;
  const fixed = [5, 11, 4] as const;
  const rest = limit - fixed.reduce((sum, one) => sum + one + GAP.length, 0) - 2 * GAP.length;
  const event = Math.max(8, Math.min(30, Math.floor(rest * 0.4)));
  const from = Math.max(6, Math.min(24, Math.floor(rest * 0.28)));
  const widths = [...fixed, event, from, Math.max(4, rest - event - from)];
  const row = (cells: readonly string[]) =>
    cells
      .map((cell, at) => {
        const text = width === undefined ? cell : clip(cell, widths[at] as number);
        return at === cells.length - 1 ? text : pad(text, widths[at] as number);
      })
      .join(GAP)
      .trimEnd();
  return {
    header: (): string => bold(row(["SEQ", "RECEIVED", "DONE", "EVENT", "FROM", "TITLE"])),
    row: (one: SummaryView): string => {
      const text = row([
        String(one.seq),
        localTime(one.received_at, now()),
        one.processed ? "✓" : "",
        printable(eventName(one)),
        printable(one.repo ?? one.sender ?? ""),
        printable(
          [one.number === null ? "" : `#${one.number}`, one.title].filter(Boolean).join(" "),
        ),
      ]);
      return one.processed ? dim(text) : text;
    },
  };
}

const GAP = "  ";

/** In the time zone of the terminal: `00:53:10` if it is today, else `11-16 00:53`. */
function localTime(iso: string, now: Date): string {
  const at = new Date(iso);
  const joined = (separator: string, ...parts: number[]) =>
    parts.map((part) => String(part).padStart(2, "0")).join(separator);
  return at.toDateString() === now.toDateString()
    ? joined(":", at.getHours(), at.getMinutes(), at.getSeconds())
    : `${joined("-", at.getMonth() + 1, at.getDate())} ${joined(":", at.getHours(), at.getMinutes())}`;
}

export function describeEvent(event: EventView): string {
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
  const known = lines.flatMap(([label, value]) =>
    value === null ? [] : [`${dim(label.padEnd(9))} ${printable(value)}`],
  );
  return [...known, "", escapeControls(JSON.stringify(event.payload, null, 2))].join("\n");
}

function stateOf({ processed, processed_at, claimed_by, claimed_until }: EventView): string {
  if (processed) return `processed at ${processed_at}`;
  if (claimed_until === null) return "pending";
  return claimed_by === null
    ? `pending, cannot be claimed before ${claimed_until}`
    : `pending, claimed by ${claimed_by} until ${claimed_until}`;
}

/** `JSON.stringify` leaves some characters that control a terminal. */
const escapeControls = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}`,
  );
