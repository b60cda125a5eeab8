import { expect, it } from "vitest";
import { formatTime, nextFireTimes } from "./fire-times.ts";

const NOW = Date.parse("2026-11-16T10:00:00Z");
const iso = (times: number[]) => times.map((time) => new Date(time).toISOString());

it("returns the next five times in the time zone", () =>
  expect(iso(nextFireTimes("0 9 * * 1-5", "Europe/Berlin", NOW))).toEqual([
    "2026-11-17T08:00:00.000Z",
    "2026-11-18T08:00:00.000Z",
    "2026-11-19T08:00:00.000Z",
    "2026-11-20T08:00:00.000Z",
    "2026-11-23T08:00:00.000Z",
  ]));

it("keeps the local time when daylight saving time begins", () =>
  expect(
    nextFireTimes("0 9 * * *", "Europe/Berlin", Date.parse("2027-03-26T12:00:00Z"), 3).map((time) =>
      formatTime(time, "Europe/Berlin"),
    ),
  ).toEqual([
    "Sat 27 Mar 2027, 09:00 CET",
    "Sun 28 Mar 2027, 09:00 CEST",
    "Mon 29 Mar 2027, 09:00 CEST",
  ]));

it.each([
  ["0 9 * *", "UTC"],
  ["*/10 * * * * *", "UTC"],
  ["0 9 * * *", "Europe/Nowhere"],
  ["0 0 30 2 *", "UTC"],
])("returns no times for %s in %s", (cron, timeZone) =>
  expect(nextFireTimes(cron, timeZone, NOW)).toEqual([]),
);
