import type { JsonObject } from "@signalbox/rules/json.ts";
import { matchTriggers } from "@signalbox/rules/match/match-trigger.ts";
import { describe, expect, it } from "vitest";
import { matchingData } from "./matching-data.ts";

const matches = async (params: JsonObject, data: JsonObject) => {
  const [verdict] = await matchTriggers(
    { tenant: "t", source: "s", type: "x", data },
    [{ tenant: "t", source: "s", isActive: true, params }],
    { evaluateFilters: async () => [] },
  );
  return verdict?.matched;
};

describe("matchingData", () => {
  it.each<[JsonObject]>([
    [{ action: "opened" }],
    [{ "issue.labels[].name": "bug", "issue.number": 7 }],
    [{ "list[2].id": "c" }],
    [{ 'data["odd.name"]': true }],
    [{ state: { op: "in", value: ["red", "green"] } }],
    [{ state: { op: "in", value: "red, green" } }],
    [{ state: { op: "ne", value: "red" } }],
    [{ title: { op: "contains", value: "lamp" } }],
    [{ ref: { op: "starts_with", value: "refs/heads/" } }],
    [{ ref: { op: "glob", value: "release/?.*" } }],
    [{ count: { op: "gt", value: 10 } }],
    [{ count: { op: "lt", value: "10" } }],
    [{ at: { op: "gt", value: "2026-01-01T00:00:00Z" } }],
    [{ assignee: { op: "exists" } }],
    [{ assignee: { op: "exists", value: false } }],
    [{ anything: "", other: "x" }],
  ])("creates data that matches %j", async (params) =>
    expect(await matches(params, matchingData(params))).toBe(true),
  );
});

it("keeps the values of the sample that match", () => {
  const sample = { state: "green", count: 12, labels: [{ name: "a", color: "red" }] };
  const params = {
    state: { op: "in", value: ["red", "green"] },
    "labels[].name": "bug",
    count: { op: "gt", value: 10 },
  };
  expect(matchingData(params, sample)).toEqual({
    state: "green",
    count: 12,
    labels: [{ name: "bug", color: "red" }],
  });
});

it("changes the values of the sample that must be absent or different", async () => {
  const params = { state: { op: "ne", value: "red" }, gone: { op: "exists", value: false } };
  expect(await matches(params, matchingData(params, { state: "red", gone: 1 }))).toBe(true);
});

it.each(["ne", "gt", "lt", "glob"])("does not throw if the value of %s is an object", (op) => {
  const params = { state: { op, value: { toString: 1 } } };
  expect(() => matchingData(params, { state: { toString: 1 } })).not.toThrow();
});

it("ignores invalid paths, and does not set a prototype", () => {
  expect(matchingData({ "a..b": "x" })).toEqual({});
  expect(Object.getPrototypeOf(matchingData({ "__proto__.x": "y" }))).toBe(Object.prototype);
});
