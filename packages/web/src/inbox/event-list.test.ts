import type { EventItem } from "@signalbox/contract";
import { afterEach, expect, it, vi } from "vitest";
import { toListRows } from "./event-list.ts";

const event = (seq: number, more: Partial<EventItem> = {}) =>
  ({
    id: `e${seq}`,
    seq,
    outcome: "unmatched",
    processed: false,
    received_at: new Date(2026, 10, 15, 12, seq).toISOString(),
    ...more,
  }) as EventItem;

afterEach(() => vi.unstubAllEnvs());

it("puts a heading before each day", () => {
  const rows = toListRows(
    [event(2), event(1), event(0, { received_at: new Date(2026, 10, 14).toISOString() })],
    new Date(2026, 10, 15, 20),
  );
  expect(rows.map((row) => (row.kind === "day" ? row.name : row.event.seq))).toEqual([
    "Today, Sunday 15 November",
    2,
    1,
    "Yesterday, Saturday 14 November",
    0,
  ]);
});

it("separates days in a time zone whose offset has 45 minutes", () => {
  vi.stubEnv("TZ", "Asia/Kathmandu");
  // Midnight in Kathmandu is 18:15 UTC.
  const rows = toListRows(
    ["18:16", "18:14"].map((time, seq) =>
      event(seq, { received_at: `2026-11-15T${time}:00.000Z` }),
    ),
    new Date("2026-11-15T20:00:00Z"),
  );
  expect(rows.map(({ kind }) => kind)).toEqual(["day", "event", "day", "event"]);
});
