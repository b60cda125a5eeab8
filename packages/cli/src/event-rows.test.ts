import type { EventSummary, StoredEvent } from "@signalbox/contract/events.ts";
import { expect, it } from "vitest";
import { createEventRows, describeEvent } from "./event-rows.ts";
import { displayWidth } from "./text-layout.ts";

const event: EventSummary = {
  id: "0198",
  source: "github",
  seq: 12,
  type: "issues",
  received_at: new Date(2026, 10, 5, 7, 8, 9).toISOString(),
  processed: false,
  trigger_status: null,
  last_triggered_at: null,
  action: "opened",
  repo: "octo/town",
  sender: "mona",
  number: 7,
  title: "It rains",
  url: null,
};
const long = { ...event, title: "信号 ".repeat(60), repo: "o".repeat(100), type: "t".repeat(100) };

const now = () => new Date(2026, 10, 5, 23, 0, 0);

it("formats an event as one line with columns", () => {
  const rows = createEventRows(undefined, now);
  expect(rows.header()).toMatch(/^SEQ +RECEIVED +DONE +EVENT +FROM +TITLE$/);
  expect(rows.row(event)).toMatch(/^12 +07:08:09 +github\.issues opened +octo\/town +#7 It rains$/);
  expect(rows.row({ ...event, processed: true })).toMatch(/^12 +07:08:09 +✓ +github/);
  expect(rows.row({ ...event, repo: null, title: null, number: null })).toMatch(/opened +mona$/);
  expect(rows.row(long)).toContain(long.repo);
  const tomorrow = createEventRows(undefined, () => new Date(2026, 10, 6, 0, 0, 0));
  expect(tomorrow.row(event)).toMatch(/^12 +11-05 07:08 +github/);
});

it("shows the action only if the type does not contain it", () => {
  const invoice = { ...event, source: "stripe", type: "invoice.paid", action: "paid" };
  expect(createEventRows(undefined).row(invoice)).toMatch(/stripe\.invoice\.paid +octo/);
});

it.each([60, 80, 100, 200])("fits each line into a terminal of %i columns", (width) => {
  const rows = createEventRows(width);
  for (const line of [rows.header(), rows.row(event), rows.row(long)])
    expect(displayWidth(line)).toBeLessThanOrEqual(width);
  expect(rows.row(long)).toContain("…");
});

it("describes whether an event is claimed, by whom, and until when", () => {
  const view: StoredEvent = {
    ...event,
    processed: false,
    payload: null,
    external_id: null,
    outcome: "unmatched",
    claimed_by: null,
    claimed_until: null,
    attempts: 0,
    processed_at: null,
    note: null,
  };
  const until = "2026-11-16T12:00:00.000Z";
  const describeWith = (changes: Partial<StoredEvent>) => describeEvent({ ...view, ...changes });
  expect(describeWith({})).toMatch(/State +pending\n/);
  expect(describeWith({})).not.toContain("Attempts");
  expect(describeWith({ claimed_by: "local/box-1", claimed_until: until, attempts: 2 })).toMatch(
    `pending, claimed by local/box-1 until ${until}\nAttempts  2`,
  );
  expect(describeWith({ claimed_until: until })).toContain(
    `pending, cannot be claimed before ${until}`,
  );
});

it("removes or escapes characters of the sender that control the terminal", () => {
  const hostile = "red\u001b[31m\u0007\nx\u009b31m\u202e";
  const row = createEventRows(80).row({ ...event, title: hostile, repo: hostile });
  const view: StoredEvent = {
    ...event,
    payload: { [hostile]: hostile },
    external_id: hostile,
    outcome: "unmatched",
    claimed_by: null,
    claimed_until: null,
    attempts: 0,
    processed_at: null,
    note: hostile,
  };
  const text = describeEvent(view);
  for (const printed of [row, text.replaceAll("\n", "")])
    expect(printed).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(text).toContain("Type      github.issues");
  expect(text).toContain('"red\\u001b[31m\\u0007\\nx\\u009b31m\\u202e"');
});
