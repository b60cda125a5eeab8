import { describe, expect, it } from "vitest";
import { isNarrowed, readFilter, toListQuery, writeFilter } from "./filter.ts";

const NOW = Date.parse("2026-11-15T16:46:50.462Z");

describe("readFilter and writeFilter", () => {
  it.each(["", "?view=failed", "?view=all&source=github&type=issues&period=24h&q=lamp+%26+bell"])(
    "convert %s to a filter and back",
    (search) => expect(writeFilter(readFilter(search))).toBe(search),
  );

  it("ignore unknown views, periods and parameters, and blank text", () => {
    expect(writeFilter(readFilter("?view=odd&period=constructor&x=1&q=%20"))).toBe("");
  });
});

describe("toListQuery", () => {
  it("requests pending events by default (view `waiting`), and otherwise the events of the view", () => {
    expect(toListQuery(readFilter(""), NOW)).toMatchObject({ pending: "1", outcome: undefined });
    expect(toListQuery(readFilter("?view=all"), NOW).pending).toBeUndefined();
    expect(toListQuery(readFilter("?view=failed"), NOW)).toMatchObject({ outcome: "failed" });
  });

  it("rounds the start of a period down to the minute", () => {
    const since = (now: number) => toListQuery(readFilter("?period=1h"), now).since;
    expect(since(NOW)).toBe("2026-11-15T15:46:00.000Z");
    expect(since(NOW + 9_000)).toBe(since(NOW));
  });
});

it("reports a filter as narrowed if it excludes events of the views Waiting and All", () => {
  expect(
    ["", "?view=all", "?q=x", "?view=failed"].map((each) => isNarrowed(readFilter(each))),
  ).toEqual([false, false, true, true]);
});
