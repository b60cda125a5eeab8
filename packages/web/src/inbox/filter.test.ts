import { describe, expect, it } from "vitest";
import { isNarrowed, readFilter, toListQuery, writeFilter } from "./filter.ts";

const NOW = Date.parse("2026-11-15T16:46:50.462Z");

describe("the filter in the address", () => {
  it.each(["", "?view=failed", "?view=all&source=github&type=issues&period=24h&q=lamp+%26+bell"])(
    "reads back what it wrote: %s",
    (search) => expect(writeFilter(readFilter(search))).toBe(search),
  );

  it("ignores what it does not know", () => {
    expect(writeFilter(readFilter("?view=odd&period=constructor&x=1&q=%20"))).toBe("");
  });
});

describe("the query of the list", () => {
  it("asks for waiting events by default", () => {
    expect(toListQuery(readFilter(""), NOW)).toMatchObject({ pending: "1", outcome: undefined });
    expect(toListQuery(readFilter("?view=all"), NOW).pending).toBeUndefined();
    expect(toListQuery(readFilter("?view=failed"), NOW)).toMatchObject({ outcome: "failed" });
  });

  it("stays the same within a minute", () => {
    const since = (now: number) => toListQuery(readFilter("?period=1h"), now).since;
    expect(since(NOW)).toBe("2026-11-15T15:46:00.000Z");
    expect(since(NOW + 9_000)).toBe(since(NOW));
  });
});

it("tells a narrowed view from an empty inbox", () => {
  expect(
    ["", "?view=all", "?q=x", "?view=failed"].map((each) => isNarrowed(readFilter(each))),
  ).toEqual([false, false, true, true]);
});
