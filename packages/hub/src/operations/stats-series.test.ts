import { expect, it } from "vitest";
import { percentile95, readSeries } from "./stats-series.ts";

it("computes the 95th percentile by the nearest-rank method", () => {
  expect(percentile95([])).toBeNull();
  expect(percentile95([7])).toBe(7);
  expect(percentile95(Array.from({ length: 100 }, (_, index) => 100 - index))).toBe(95);
});

it("assigns events, runs and durations to the slots of their time", async () => {
  const now = Date.UTC(2026, 10, 16);
  const slot = 65_536;
  const last = Math.floor(now / slot);
  const prefix = (slotNumber: number) => slotNumber.toString(16).padStart(8, "0");
  const series = await readSeries(
    {
      countReceived: async (_, times) => times.slice(1).map((_, index) => index),
      countRunsByPeriod: async () => [
        { prefix: prefix(last), status: "succeeded", count: 3 },
        { prefix: prefix(last), status: "failed", count: 2 },
        { prefix: prefix(last - 1), status: "queued", count: 1 },
      ],
      listRunTimes: async () => [
        { id: `${prefix(last)}-0000-7000`, created_at: 0, started_at: 10, finished_at: 30 },
        { id: `${prefix(last - 2)}-0000-7000`, created_at: 0, started_at: 0, finished_at: 5 },
      ],
    },
    "acme",
    "1h",
    now,
  );
  expect(series).toMatchObject({ window: "1h", slot_ms: slot, p95_ms: 20 });
  expect(series.points.length).toBeGreaterThanOrEqual(55);
  expect(series.points.at(-1)).toMatchObject({ runs: 5, failed: 2, p95_ms: 20 });
  expect(series.points.at(-2)).toMatchObject({ runs: 1, failed: 0, p95_ms: null });
  expect(series.points.at(-3)).toMatchObject({ runs: 0, p95_ms: 5 });
  expect(Date.parse(series.points.at(-1)?.at ?? "")).toBe(last * slot);
});
