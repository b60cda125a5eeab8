import { expect, it } from "vitest";
import { ago, bytes, day, dayMark, duration, plural } from "./format.ts";

it.each([
  [0, "0 ms"],
  [212.4, "212 ms"],
  [999.4, "999 ms"],
  [1_000, "1.0 s"],
  [1_650, "1.6 s"],
  [9_990, "9.9 s"],
  [38_400, "38 s"],
  [125_000, "2 min 5 s"],
  [120_000, "2 min"],
  [11_400_000, "3 h 10 min"],
  [172_800_000, "2 d"],
])("formats %d ms as %s", (ms, text) => expect(duration(ms)).toBe(text));

it("formats the time since a moment, and moments in the future as just now", () => {
  const now = Date.parse("2026-11-15T12:00:00Z");
  expect(ago("2026-11-15T11:59:55Z", now)).toBe("just now");
  expect(ago("2026-11-15T11:55:30Z", now)).toBe("4 min ago");
  expect(ago("2026-11-15T12:01:00Z", now)).toBe("just now");
});

it("formats days, with the year if it is not the current one", () => {
  const now = new Date(2026, 10, 15, 1, 30);
  expect(day(new Date(2026, 10, 15, 0, 10).toISOString(), now)).toBe("Today, Sunday 15 November");
  expect(day(new Date(2026, 10, 14, 23, 59).toISOString(), now)).toBe(
    "Yesterday, Saturday 14 November",
  );
  expect(day(new Date(2025, 10, 14).toISOString(), now)).toBe("Friday 14 November 2025");
});

it("returns the date of another day, and an empty text for today", () => {
  const now = new Date(2026, 10, 15, 1, 30);
  const mark = (...date: [number, number, number]) => dayMark(new Date(...date).toISOString(), now);
  expect([mark(2026, 10, 15), mark(2026, 10, 14), mark(2025, 10, 15)]).toEqual([
    "",
    "14 Nov",
    "15 Nov 2025",
  ]);
});

it("formats sizes and counts", () => {
  expect([834, 1_234, 2_000_000].map(bytes)).toEqual(["834 B", "1.2 KB", "2.0 MB"]);
  expect([plural(1, "event"), plural(1_904, "event")]).toEqual(["1 event", "1,904 events"]);
});
