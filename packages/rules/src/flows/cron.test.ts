import { describe, expect, it } from "vitest";
import { countTicks, cronProblem, isTimeZone, lastTick, nextTick } from "./cron.ts";

const HOUR = 3_600_000;
const timeOf = (iso: string) => new Date(iso).getTime();

/** Returns the next ticks after a time, in UTC. */
function ticks(cron: string, timeZone: string, after: string, count: number): string[] {
  const times: string[] = [];
  let time: number | null = timeOf(after);
  while (times.length < count && time !== null) {
    time = nextTick({ cron, timeZone }, time);
    if (time !== null) times.push(new Date(time).toISOString().replace(":00.000Z", "Z"));
  }
  return times;
}

describe("cronProblem", () => {
  it.each([
    "* * * * *",
    "*/5 9-17 * * MON-FRI",
    "0 9 * * 1-5",
    " 0 9 * * 1-5 ",
    "0 0 L * *",
    "0 0 29 2 *",
    "0 0 * * 5#3",
    "30 0 9 * * *",
    "59 * * * * *",
    "@hourly",
    "@daily",
  ])("accepts %j", (cron) => expect(cronProblem(cron)).toBeUndefined());

  it.each(["", " ", "foo", "* * * *", "* * * * * * *", "2027-01-01T00:00:00", "@every 5m"])(
    "rejects %j, which does not have five fields",
    (cron) => expect(cronProblem(cron)).toContain("must have five fields: minute, hour"),
  );

  it.each([
    ["60 * * * *", "is not a cron expression: invalid value for minute: 60"],
    ["0 24 * * *", "is not a cron expression: invalid value for hour: 24"],
    ["x * * * *", "is not a cron expression: "],
    ["5/15 * * * *", "is not a cron expression: "],
    ["@never", "is not a cron expression: "],
    ["@reboot", "is not a cron expression: "],
  ])("rejects %j with the reason", (cron, message) => expect(cronProblem(cron)).toContain(message));

  it.each(["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *"])(
    "rejects %j, whose date does not exist",
    (cron) => expect(cronProblem(cron)).toMatch(/^never fires, .*: change the day of month/),
  );

  it.each(["* * * * * *", "*/30 * * * * *", "0,59 0 9 * * *", "30,31 0 0 29 2 *", "0-1 * * * * *"])(
    "rejects %j, whose ticks are less than a minute apart",
    (cron) => expect(cronProblem(cron)).toMatch(/^fires more than once a minute: .* seconds/),
  );
});

it("isTimeZone accepts only names of the IANA database", () => {
  for (const zone of ["UTC", "Europe/Berlin", "America/New_York"])
    expect(isTimeZone(zone)).toBe(true);
  for (const zone of ["", " ", "Mars/Phobos", "Berlin", "GMT+2"])
    expect(isTimeZone(zone)).toBe(false);
});

describe("when the clocks go forward", () => {
  // Berlin: 2026-03-29, 02:00 → 03:00 at 01:00Z. New York: 2026-03-08, 02:00 → 03:00 at 07:00Z.
  it.each([
    ["Europe/Berlin", "2026-03-28T00:00Z", "2026-03-28T01:30Z 2026-03-29T01:00Z 2026-03-30T00:30Z"],
    [
      "America/New_York",
      "2026-03-07T00:00Z",
      "2026-03-07T07:30Z 2026-03-08T07:00Z 2026-03-09T06:30Z",
    ],
  ])(
    "a daily job at 02:30 in %s fires once on that day, right after the gap",
    (zone, from, expected) =>
      expect(ticks("30 2 * * *", zone, from, 3)).toEqual(expected.split(" ")),
  );

  it.each([
    ["Europe/Berlin", "2026-03-28T23:30Z"],
    ["America/New_York", "2026-03-08T05:30Z"],
  ])("an hourly job in %s fires once in every real hour", (zone, from) => {
    const times = ticks("0 * * * *", zone, from, 6).map(timeOf);
    expect(times[0]).toBe(timeOf(from) + HOUR / 2);
    for (const [index, time] of times.slice(1).entries())
      expect(time).toBe((times[index] ?? 0) + HOUR);
  });
});

describe("when the clocks go back", () => {
  // Berlin: 2026-10-25, 03:00 → 02:00 at 01:00Z. New York: 2026-11-01, 02:00 → 01:00 at 06:00Z.
  it.each([
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T00:00Z",
      "2026-10-24T00:30Z 2026-10-25T00:30Z 2026-10-26T01:30Z",
    ],
    [
      "30 1 * * *",
      "America/New_York",
      "2026-10-31T00:00Z",
      "2026-10-31T05:30Z 2026-11-01T05:30Z 2026-11-02T06:30Z",
    ],
    [
      "30 2 * * *",
      "America/New_York",
      "2026-10-31T00:00Z",
      "2026-10-31T06:30Z 2026-11-01T07:30Z 2026-11-02T07:30Z",
    ],
  ])("the daily job %j in %s fires once on that day", (cron, zone, from, expected) =>
    expect(ticks(cron, zone, from, 3)).toEqual(expected.split(" ")),
  );

  it("a daily job does not fire again in the repeated hour, even if the hub restarts in this hour", () => {
    for (const restart of ["2026-10-25T00:45Z", "2026-10-25T01:00Z", "2026-10-25T01:15Z"])
      expect(ticks("30 2 * * *", "Europe/Berlin", restart, 1)).toEqual(["2026-10-26T01:30Z"]);
  });

  it.each([
    ["Europe/Berlin", "2026-10-24T22:30Z"],
    ["America/New_York", "2026-11-01T03:30Z"],
  ])("an hourly job in %s fires once in every real hour", (zone, from) => {
    const times = ticks("0 * * * *", zone, from, 6).map(timeOf);
    expect(times[0]).toBe(timeOf(from) + HOUR / 2);
    for (const [index, time] of times.slice(1).entries())
      expect(time).toBe((times[index] ?? 0) + HOUR);
  });
});

describe.each([
  ["30 2 * * *", "Europe/Berlin", "2026-03-25T00:00Z"],
  ["30 2 * * *", "Europe/Berlin", "2026-10-20T00:00Z"],
  ["*/20 1-3 * * *", "America/New_York", "2026-10-30T00:00Z"],
  ["15 * * * *", "America/New_York", "2026-03-06T00:00Z"],
  ["0 9 * * 1-5", "UTC", "2026-11-13T12:00Z"],
])("%j in %s after %s", (cron, timeZone, from) => {
  const times = { cron, timeZone };
  const all = ticks(cron, timeZone, from, 40).map(timeOf);
  const [first = 0, last = 0] = [all[0], all.at(-1)];

  it("has the same next tick wherever the search starts", () => {
    for (let time = first; time < last; time += 37 * 60_000 + 7)
      expect(nextTick(times, time)).toBe(all.find((tick) => tick > time));
  });

  it("counts ticks and finds the last one", () => {
    for (let time = first; time < last; time += 5 * HOUR + 47 * 60_000 + 7) {
      const passed = all.filter((tick) => tick <= time);
      expect(lastTick(times, first, time)).toBe(passed.at(-1));
      expect(countTicks(times, first, time, 100)).toBe(passed.length);
      expect(countTicks(times, first, time, 3)).toBe(Math.min(3, passed.length));
    }
  });
});
