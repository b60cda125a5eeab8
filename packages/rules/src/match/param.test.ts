import { describe, expect, it } from "vitest";
import type { Json } from "../json.ts";
import { paramsSchema, readParam } from "./param.ts";

describe("a param", () => {
  it.each<[string, Json, ReturnType<typeof readParam>]>([
    ["a plain value is equality", "opened", { op: "eq", value: "opened" }],
    ["so is a number", 0, { op: "eq", value: 0 }],
    ["and false", false, { op: "eq", value: false }],
    ["and an object without op", { a: 1 }, { op: "eq", value: { a: 1 } }],
    ["blank means any", "", "any"],
    ["so do spaces", "  ", "any"],
    ["and null", null, "any"],
    ["and a blank value", { op: "gt", value: "" }, "any"],
    ["and no value", { op: "glob" }, "any"],
    ["and an empty list", { op: "in", value: [] }, "any"],
    ["a list may be text", { op: "in", value: "red, bug" }, { op: "in", value: ["red", "bug"] }],
    ["exists alone", { op: "exists" }, { op: "exists", value: true }],
    ["exists not", { op: "exists", value: false }, { op: "exists", value: false }],
  ])("%s", (_, param, read) => {
    expect(readParam(param)).toEqual(read);
  });

  it.each<[Json, string]>([
    [{ op: "regex", value: "a" }, "op must be one of eq, ne, in,"],
    [{ op: 1 }, "but is 1"],
    [{ op: "eq", value: 1, extra: 2 }, "has extra beside op and value"],
    [{ op: "in", value: 3 }, "value must be a list for in"],
    [{ op: "in", value: Array<Json>(1001).fill(1) }, "value must list at most 1000 for in"],
    [{ op: "glob", value: "*".repeat(1001) }, "value must be at most 1000 characters for glob"],
  ])("%j is not understood", (param, words) => {
    expect(readParam(param)).toEqual({ problem: expect.stringContaining(words) });
  });
});

describe("params as they are stored", () => {
  it("may be any paths and values", () => {
    const params = { action: "opened", "issue.labels[].name": { op: "ne", value: "wip" }, n: 1 };
    expect(paramsSchema.parse(params)).toEqual(params);
  });

  it.each([
    [{ "a..b": 1 }, "a..b", "is not a path"],
    [{ a: { op: "like", value: 1 } }, "a", "op must be one of"],
    [{ a: { op: "glob", value: "*".repeat(1001) } }, "a", "at most 1000 characters"],
  ])("%j is refused by name", (params, name, words) => {
    const issue = paramsSchema.safeParse(params).error?.issues[0];
    expect(issue?.path).toEqual([name]);
    expect(issue?.message).toContain(words);
  });

  it("are not too many", () => {
    const params = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`p${n}`, n]));
    expect(paramsSchema.safeParse(params).error?.issues[0]?.message).toBe("must be at most 50");
  });
});
