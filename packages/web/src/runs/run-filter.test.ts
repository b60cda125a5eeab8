import { expect, it } from "vitest";
import { describeCause, readRunFilter, toRunQuery, writeRunFilter } from "./run-filter.ts";

it.each(["", "?view=failed", "?view=active&flow=f1&cause=tool&period=24h"])(
  "reads back the filter that it wrote: %s",
  (search) => expect(writeRunFilter(readRunFilter(search))).toBe(search),
);

it("ignores what it does not know", () => {
  expect(writeRunFilter(readRunFilter("?view=x&cause=y&period=toString"))).toBe("");
});

it("asks the hub for a status", () => {
  expect(toRunQuery(readRunFilter("?view=failed&period=1h"), 3_600_000)).toMatchObject({
    status: "failed",
    since: "1970-01-01T00:00:00.000Z",
  });
  expect(toRunQuery(readRunFilter("?view=active"), 0).status).toBe("active");
  expect(toRunQuery(readRunFilter(""), 0).status).toBeUndefined();
});

it("names the trigger of a run, or that it tested the draft", () => {
  const run = { cause: "tool", version: 1 } as const;
  expect(describeCause(run)).toBe("called by an agent");
  expect(describeCause({ ...run, trigger_name: null })).toBe("called by an agent");
  expect(describeCause({ ...run, trigger_name: "greet" })).toBe("called by an agent: greet");
  expect(describeCause({ cause: "api", version: -2, trigger_name: "greet" })).toBe(
    "test of the draft",
  );
});
