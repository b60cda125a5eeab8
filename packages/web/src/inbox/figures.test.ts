import type { Stats } from "@signalbox/contract";
import { expect, it } from "vitest";
import { figuresOf, formatRate } from "./figures.ts";

const point = (events: number, runs = 0, failed = 0) => ({
  at: "2026-11-15T12:00:00Z",
  events,
  runs,
  failed,
  p95_ms: runs > 0 ? 900 : null,
});

it("averages the event rate over the last five minutes, without the slot that is not over", () => {
  const stats = {
    runs: { succeeded: 4, failed: 2, queued: 0 },
    runs_more: [],
    series: {
      window: "1h",
      slot_ms: 60_000,
      points: [point(900), ...Array.from({ length: 5 }, () => point(10, 2, 1)), point(1)],
      p95_ms: 1_800,
    },
  } as unknown as Stats;
  expect(figuresOf(stats)).toEqual({
    eventsPerMinute: 10,
    runsInDay: "6",
    failedInHour: "5",
    p95Ms: 1_800,
    bars: {
      events: [900, 10, 10, 10, 10, 10, 1],
      runs: [0, 2, 2, 2, 2, 2, 0],
      failed: [0, 1, 1, 1, 1, 1, 0],
      p95Ms: [0, 900, 900, 900, 900, 900, 0],
    },
  });
});

it("returns zeros and no p95 if there is no series", () => {
  expect(
    figuresOf({ runs: {}, runs_more: [], series: undefined } as unknown as Stats),
  ).toMatchObject({
    eventsPerMinute: 0,
    runsInDay: "0",
    p95Ms: null,
  });
});

it("says that counts are above the maximum of the hub", () => {
  const stats = {
    runs: { succeeded: 10_000, failed: 2_000 },
    runs_more: ["succeeded"],
    series: { slot_ms: 60_000, points: [point(0, 0, 9_000), point(0, 0, 1_001)], p95_ms: null },
  } as unknown as Stats;
  expect(figuresOf(stats)).toMatchObject({
    runsInDay: "more than 12,000",
    failedInHour: "more than 10,000",
  });
});

it("rounds rates below 10 to a tenth, and others to whole numbers", () => {
  expect([0, 0.42, 9.96, 41.6, 1_234.4].map(formatRate)).toEqual(["0", "0.4", "10", "42", "1,234"]);
});
