import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { runFilters } from "./filter.ts";

const event: Json = {
  type: "issues",
  received_at: "2026-01-31T09:00:00.000Z",
  data: { action: "opened", issue: { number: 7, labels: [{ name: "red" }, { name: "bug" }] } },
};
const filter = async (text: string) => (await runFilters([text], event))[0];

describe("a filter", () => {
  it.each([
    ["data.issue.number > 5", true],
    ["data.issue.number > 10", false],
    ['"bug" in data.issue.labels.name', true],
    ['data.action = "opened" and $count(data.issue.labels) = 2', true],
    ['$contains(data.action, "open")', true],
    ["data.nothing", false],
    ["data.issue", true],
    ["[]", false],
    ["[0, 1]", true],
    ['""', false],
    ["function($x){$x}", false],
    ["$count", false],
    ["data.constructor", false],
    ["data.__proto__", false],
  ])("%s evaluates to %s", async (text, holds) => {
    expect(await filter(text)).toEqual({ holds });
  });

  it.each([
    "$match(data.action, /^OPEN/i)",
    "data.action ~> /^opened$/",
    '$replace("2026-01-31", /(\\d+)-(\\d+)-(\\d+)/, "$3.$2.$1") = "31.01.2026"',
    '$eval("1 + 1") = 2',
    '$fromMillis($toMillis(received_at), "[Y0001]-[M01]-[D01]") = "2026-01-31"',
    '$toMillis("31.01.2026", "[D01].[M01].[Y0001]") = 1769817600000',
    '$formatNumber(12345.678, "#,##0.00") = "12,345.68"',
    '$formatInteger(1999, "I") = "MCMXCIX"',
    "data.issue.title ?? data.action ?: 1",
    '{"k": (data.a ?? (data.b ?? (data.c ?? (data.d ?? (data.e ?? (data.f ?? 1))))))}.k = 1',
  ])("can use the whole language: %s", async (text) => {
    expect(await filter(text)).toEqual({ holds: true });
  });

  it.each([
    ["data.issue.", "at character"],
    ["(", "at character"],
    ["data.action + 1", "must evaluate to a number"],
    ["$nothing()", "non-function"],
    ['$toMillis("tomorrow")', "ISO 8601"],
  ])("%s fails with a message", async (text, message) => {
    expect(await filter(text)).toEqual({ problem: expect.stringContaining(message) });
  });

  it("returns a truncated error message", async () => {
    const { problem } = (await filter('$error($pad("", 9000, "x"))')) as { problem: string };
    expect(problem.length).toBeLessThan(1100);
  });

  it("never throws, and does not change the event", async () => {
    const before = JSON.stringify(event);
    await fc.assert(
      fc.asyncProperty(fc.string(), async (text) => {
        const result = await filter(text);
        expect(result && ("holds" in result || typeof result.problem === "string")).toBe(true);
      }),
    );
    await filter("data ~> |issue|{'number': 8}|");
    expect(JSON.stringify(event)).toBe(before);
  });
});

it("returns the results in the order of the filters, and shares no variables between them", async () => {
  const filters = ["$x := 1", "$exists($x)", "data.(", "data.issue.number = 7"];
  expect(await runFilters(filters, event)).toEqual([
    { holds: true },
    { holds: false },
    { problem: expect.stringContaining("at character") },
    { holds: true },
  ]);
});
