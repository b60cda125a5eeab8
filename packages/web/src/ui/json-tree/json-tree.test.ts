import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import { describe, expect, it } from "vitest";
import { toPath } from "./path.ts";
import { PAGE, parentsOf, toRows } from "./rows.ts";
import { type Found, startSearch } from "./search.ts";

const VALUE = {
  issue: { number: 7, labels: [{ name: "question" }, { name: "bug" }] },
  empty: {},
  note: null,
};
const openTo = (depth: number) => ({
  isOpen: (_: string, at: number) => at < depth,
  limit: () => PAGE,
  revealed: () => undefined,
});

describe("toPath", () => {
  it.each([
    [["issue", "labels", 0, "name"], "issue.labels[0].name"],
    [[0, "x"], "[0].x"],
    [["odd.name", 'a"b\\c', ""], '["odd.name"]["a\\"b\\\\c"][""]'],
    [["x-github-event"], "x-github-event"],
  ])("writes %j", (keys, path) => {
    expect(toPath(keys)).toBe(path);
    expect(parsePath(path)).toEqual(keys);
  });

  it("leads back to the value", () => {
    const path = parsePath(toPath(["issue", "labels", 1, "name"]));
    expect(valuesAt(VALUE, path ?? [])).toEqual(["bug"]);
  });
});

describe("toRows", () => {
  it("shows only what is open", () => {
    expect(toRows(VALUE, openTo(0)).map(({ name, isOpen, size }) => [name, isOpen, size])).toEqual([
      ["issue", false, 2],
      ["empty", undefined, 0],
      ["note", undefined, 0],
    ]);
    expect(toRows(VALUE, openTo(9)).map(({ name, depth }) => [name, depth])).toEqual([
      ["issue", 0],
      ["number", 1],
      ["labels", 1],
      [0, 2],
      ["name", 3],
      [1, 2],
      ["name", 3],
      ["empty", 0],
      ["note", 0],
    ]);
  });

  it("shows a scalar and an empty value as one row", () => {
    for (const value of ["text", 7, null, {}, []]) expect(toRows(value, openTo(9))).toHaveLength(1);
  });

  it("holds back the parts after the limit", () => {
    const rows = toRows(
      Array.from({ length: 250 }, (_, at) => at),
      openTo(9),
    );
    expect(rows).toHaveLength(PAGE + 1);
    expect(rows.at(-1)?.more).toEqual({ hidden: 150 });
  });

  it("shows a part after the limit with its neighbours, and holds back the rest", () => {
    const value = Array.from({ length: 1_000 }, (_, at) => at);
    const parents = parentsOf(value, [[500]]);
    const rows = toRows(value, { ...openTo(9), revealed: (id) => parents.get(id) });
    const after = rows.slice(PAGE).map(({ name, more }) => name ?? more?.hidden);
    expect(after).toEqual([395, 495, 496, 497, 498, 499, 500, 501, 502, 503, 504, 505, 494]);
    const object = Object.fromEntries(value.map((at) => [`n${at}`, at]));
    expect(parentsOf({ object }, [["object", "n998"]]).get('["object"]')).toBe(998);
  });

  it("gives every row its own id, also for names that look like paths", () => {
    const rows = toRows({ "a.b": { c: 1 }, a: { "b.c": 1, b: { c: 1 } } }, openTo(9));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });
});

/** In the smallest steps. */
function findInJson(root: Json, text: string): Found {
  const search = startSearch(root, text);
  while (!search.step(1));
  return search.found();
}

describe("startSearch", () => {
  it("finds names and values, whatever their case", () => {
    expect(findInJson(VALUE, "NAME").hits).toEqual([
      ["issue", "labels", 0, "name"],
      ["issue", "labels", 1, "name"],
    ]);
    expect(findInJson(VALUE, "7").hits).toEqual([["issue", "number"]]);
    expect(findInJson(VALUE, "null").hits).toEqual([["note"]]);
    expect(findInJson(VALUE, "labels").hits).toEqual([["issue", "labels"]]);
    expect(findInJson("some text", "TEXT").hits).toEqual([[]]);
    expect(findInJson({ a: [[], {}, [{ b: "x" }]] }, "x").hits).toEqual([["a", 2, 0, "b"]]);
  });

  it("stops after a number of hits", () => {
    const many = findInJson(
      Array.from({ length: 5_000 }, () => "x"),
      "x",
    );
    expect([many.hits.length, many.isCut]).toEqual([1_000, true]);
  });
});
