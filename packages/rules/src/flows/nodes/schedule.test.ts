import { expect, it } from "vitest";
import { issuesOf } from "../issues.ts";
import { schedule } from "./schedule.ts";

const problems = (config: object) => {
  const { error } = schedule.config.safeParse(config);
  return error ? issuesOf(error).map(({ path, message }) => `${path}: ${message}`) : [];
};

it("requires only a cron expression; the time zone is UTC, and missed ticks run once", () => {
  expect(schedule.config.parse({ cron: "0 9 * * *" })).toEqual({
    cron: "0 9 * * *",
    timeZone: "UTC",
    misfire: "once",
    isActive: true,
  });
  expect(problems({})).toEqual(["cron: must be a cron expression such as `0 9 * * 1-5`"]);
});

it.each([
  [{ cron: "0 9 * *" }, "cron: must have five fields"],
  [{ cron: "61 9 * * *" }, "cron: is not a cron expression: invalid value for minute: 61"],
  [{ cron: "0 0 30 2 *" }, "cron: never fires"],
  [{ cron: "*/5 * * * * *" }, "cron: fires more than once a minute"],
  [
    { cron: "0 9 * * *", timeZone: "Mars/Phobos" },
    "timeZone: must be the IANA name of a time zone",
  ],
  [{ cron: "0 9 * * *", timeZone: " " }, "timeZone: must be the IANA name of a time zone"],
  [{ cron: "0 9 * * *", misfire: "all" }, "misfire: must be skip or once"],
  [{ cron: "0 9 * * *", concurrency: { most: 0 } }, "concurrency.most: "],
])("rejects %j with the message %j", (config, message) => {
  expect(problems(config)).toEqual([expect.stringContaining(message)]);
});

it("has a schedule only if its config is valid", () => {
  expect(schedule.schedule({ cron: " 0 9 * * * ", isActive: false })).toEqual({
    cron: "0 9 * * *",
    timeZone: "UTC",
    misfire: "once",
  });
  expect(schedule.schedule({ cron: "x" })).toBeUndefined();
});
