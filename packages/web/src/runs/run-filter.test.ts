import { expect, it } from "vitest";
import { describeCause, readRunFilter, toRunQuery, writeRunFilter } from "./run-filter.ts";

it.each(["", "?view=failed", "?view=active&flow=f1&cause=tool&period=24h"])(
  "writes a filter that it has read as the same text: %s",
  (search) => expect(writeRunFilter(readRunFilter(search))).toBe(search),
);

it("ignores unknown values", () => {
  expect(writeRunFilter(readRunFilter("?view=x&cause=y&period=toString"))).toBe("");
});

it("translates the view to a status and the period to a time", () => {
  expect(toRunQuery(readRunFilter("?view=failed&period=1h"), 3_600_000)).toMatchObject({
    status: "failed",
    since: "1970-01-01T00:00:00.000Z",
  });
  expect(toRunQuery(readRunFilter("?view=active"), 0).status).toBe("active");
  expect(toRunQuery(readRunFilter(""), 0).status).toBeUndefined();
});

it("describes the cause with the name of the trigger, and runs of the draft as tests", () => {
  const run = { cause: "tool", version: 1 } as const;
  expect(describeCause(run)).toBe("called by an agent");
  expect(describeCause({ ...run, trigger_name: null })).toBe("called by an agent");
  expect(describeCause({ ...run, trigger_name: "greet" })).toBe("called by an agent: greet");
  expect(describeCause({ cause: "api", version: -2, trigger_name: "greet" })).toBe(
    "test of the draft",
  );
});
