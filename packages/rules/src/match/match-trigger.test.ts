import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../json.ts";
import { runFilters } from "./filter.ts";
import {
  decodeReasons,
  encodeReasons,
  type MatchEvent,
  type MatchTrigger,
  matchTriggers,
  type Verdict,
} from "./match-trigger.ts";

const event: MatchEvent = {
  id: "e1",
  tenant: "acme",
  source: "github",
  sourceId: "src_1",
  type: "issues",
  receivedAt: Date.UTC(2026, 0, 5),
  data: {
    action: "opened",
    issue: { number: 123, locked: true, labels: [{ name: "red" }, { name: "bug" }], note: null },
    topics: ["lamps", "trains"],
  },
};
const trigger: MatchTrigger = { tenant: "acme", source: "github", type: "issues", isActive: true };
const matchTrigger = async (event: MatchEvent, trigger: MatchTrigger): Promise<Verdict> => {
  const [verdict] = await matchTriggers(event, [trigger], { evaluateFilters: runFilters });
  return verdict as Verdict;
};
const match = (change: Partial<MatchTrigger>) => matchTrigger(event, { ...trigger, ...change });
const withParams = (params: JsonObject) => match({ params });

describe("an event and a trigger", () => {
  it("match if tenant, source and type are equal", async () => {
    expect(await match({})).toEqual({
      matched: true,
      reasons: [
        { on: "active", holds: true, message: "the trigger is active" },
        {
          on: "source",
          holds: true,
          op: "eq",
          actual: ["github"],
          wanted: ["github"],
          message: 'source is "github", wanted "github"',
        },
        {
          on: "type",
          holds: true,
          op: "eq",
          actual: ["issues"],
          wanted: ["issues"],
          message: 'type is "issues", wanted "issues"',
        },
      ],
    });
  });

  it.each<[string, Partial<MatchTrigger>, string | undefined]>([
    ["match if the source is the id of the endpoint", { source: "src_1" }, undefined],
    ["match if the type is blank", { type: "" }, undefined],
    ["match if the type is omitted", { type: undefined }, undefined],
    [
      "do not match if the sources differ",
      { source: "gitlab" },
      'source is "github", wanted "gitlab"',
    ],
    ["do not match if the types differ", { type: "push" }, 'type is "issues", wanted "push"'],
    ["do not match if the trigger is inactive", { isActive: false }, "the trigger is not active"],
    [
      "do not match if the tenants differ",
      { tenant: "umbrella" },
      "the event belongs to another tenant",
    ],
  ])("%s", async (_, change, failure) => {
    const { matched, reasons } = await match(change);
    expect(matched).toBe(failure === undefined);
    expect(reasons.filter((reason) => !reason.holds).map(({ message }) => message)).toEqual(
      failure === undefined ? [] : [failure],
    );
  });

  it("of different tenants have a verdict with only one reason", async () => {
    const { reasons } = await match({ tenant: "umbrella", params: { action: "x" } });
    expect(reasons).toHaveLength(1);
  });
});

describe("params", () => {
  it.each<[JsonObject, boolean]>([
    [{ action: "opened" }, true],
    [{ action: "closed" }, false],
    [{ "issue.number": "123" }, true],
    [{ "issue.number": 123 }, true],
    [{ "issue.locked": "true" }, true],
    [{ "issue.labels[].name": "bug" }, true],
    [{ "issue.labels[].name": "wip" }, false],
    [{ "issue.labels[0].name": "bug" }, false],
    [{ topics: "trains" }, true],
    [{ topics: "cars" }, false],
    [{ action: "", "issue.number": null }, true],
    [{ missing: "" }, true],
    [{ missing: "x" }, false],
    [{ missing: { op: "exists", value: false } }, true],
    [{ "issue.note": { op: "exists" } }, false],
    [{ action: "opened", "issue.number": { op: "gt", value: 200 } }, false],
    [{ "issue.number": { op: "gt", value: "100" } }, true],
    [{ "issue.labels[].name": { op: "ne", value: "wip" } }, true],
    [{ "issue.labels[].name": { op: "in", value: ["wip", "red"] } }, true],
    [{ constructor: "x" }, false],
    [{ "a..b": "x" }, false],
    [{ action: { op: "regex", value: "o.*" } }, false],
  ])("%j match the event: %s", async (params, matched) => {
    expect((await withParams(params)).matched).toBe(matched);
  });

  it("have reasons that state the actual and the wanted value", async () => {
    const { reasons } = await withParams({
      "issue.number": { op: "gt", value: 200 },
      "issue.labels[].name": "wip",
      missing: "x",
      issue: "x",
      "issue.title": { op: "in", value: ["a", "b", "c", "d"] },
      "a..b": 1,
      action: { op: "like", value: 1 },
    });
    expect(reasons.flatMap(({ on, message }) => (on === "param" ? [message] : []))).toEqual([
      "issue.number is 123, wanted gt 200",
      'issue.labels[].name is "red", "bug", wanted "wip"',
      'missing does not exist, wanted "x"',
      'issue is an object, wanted "x"',
      'issue.title does not exist, wanted in "a", "b", "c" and 1 more',
      "a..b is not a path such as issue.labels[].name",
      expect.stringMatching(/^action is an invalid param: op must be one of/),
    ]);
  });

  it("have reasons with the operator, the actual and the wanted values", async () => {
    const { reasons } = await withParams({
      "issue.number": { op: "gt", value: 200 },
      topics: "wip",
      missing: { op: "in", value: ["a", "b", "c", "d"] },
      "a..b": 1,
    });
    expect(reasons.filter(({ on }) => on === "param")).toMatchObject([
      {
        path: "issue.number",
        holds: false,
        op: "gt",
        actual: [123],
        wanted: [200],
      },
      { op: "eq", actual: [{ type: "list", length: 2 }], wanted: ["wip"] },
      { op: "in", actual: [], wanted: ["a", "b", "c"], wanted_more: 1 },
      { holds: false, message: "a..b is not a path such as issue.labels[].name" },
    ]);
    expect(reasons.at(-1)).not.toHaveProperty("op");
  });

  it("have short reasons for long data", async () => {
    const { reasons } = await matchTrigger(
      { ...event, data: { text: "x".repeat(1_000_000), list: Array<Json>(5000).fill(1) } },
      { ...trigger, params: { text: "y", "list[]": 2 } },
    );
    expect(JSON.stringify(reasons).length).toBeLessThan(1000);
    expect(reasons.at(-1)?.message).toBe("list[] is 1, 1, 1 and 4997 more, wanted 2");
  });
});

describe("the filter", () => {
  it("is evaluated on the whole event", async () => {
    const filter =
      'id = "e1" and source = "github" and type = "issues" and data.issue.number = 123 and received_at = "2026-01-05T00:00:00.000Z"';
    expect(await match({ filter })).toMatchObject({ matched: true });
  });

  it.each([
    ["data.issue.number > 200", "the filter is not true"],
    ["data.(", "the filter failed: "],
    ["data.action + 1", "the filter failed: "],
  ])("%s does not match, with a reason", async (filter, message) => {
    const { matched, reasons } = await match({ filter });
    expect(matched).toBe(false);
    expect(reasons.at(-1)).toMatchObject({
      on: "filter",
      holds: false,
      message: expect.stringContaining(message),
    });
  });

  it("is not evaluated if a param does not hold, and matches if it is blank", async () => {
    const { reasons } = await match({ filter: "true", params: { action: "closed" } });
    expect(reasons.map(({ on }) => on)).not.toContain("filter");
    expect(await match({ filter: "  " })).toMatchObject({ matched: true });
  });
});

it("never throws, for any data and any params", async () => {
  const json = fc.jsonValue() as fc.Arbitrary<Json>;
  await fc.assert(
    fc.asyncProperty(json, fc.dictionary(fc.string(), json), async (data, params) => {
      const verdict = await matchTrigger({ ...event, data }, { ...trigger, params });
      expect(verdict.matched).toBe(verdict.reasons.every((reason) => reason.holds));
    }),
  );
});

describe("stored reasons", () => {
  it("are those of the verdict, for any data and any params", async () => {
    const json = fc.jsonValue() as fc.Arbitrary<Json>;
    await fc.assert(
      fc.asyncProperty(json, fc.dictionary(fc.string(), json), async (data, params) => {
        const { reasons } = await matchTrigger({ ...event, data }, { ...trigger, params });
        expect(decodeReasons(encodeReasons(reasons))).toEqual(JSON.parse(JSON.stringify(reasons)));
      }),
    );
  });

  it("have no message that follows from the values", async () => {
    const { reasons } = await match({ params: { "issue.number": { op: "gt", value: 200 } } });
    expect(JSON.parse(encodeReasons(reasons)).at(-1)).toEqual({
      on: "param",
      path: "issue.number",
      holds: false,
      op: "gt",
      actual: [123],
      wanted: [200],
    });
  });

  it("keep a message that was stored", () => {
    const stored = [{ on: "type", holds: false, message: "type is push, wanted issues" }];
    expect(decodeReasons(JSON.stringify(stored))).toEqual(stored);
  });
});
