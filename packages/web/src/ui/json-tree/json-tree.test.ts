import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import { describe, expect, it } from "vitest";
import { toPath } from "./path.ts";
import { PAGE, parentsOf, toRows } from "./rows.ts";
import { type SearchResult, startSearch } from "./search.ts";

const VALUE = {
  issue: { number: 7, labels: [{ name: "question" }, { name: "bug" }] },
  empty: {},
  note: null,
};
const openToDepth = (maxDepth: number) => ({
  isOpen: (_: string, depth: number) => depth < maxDepth,
  limit: () => PAGE,
  revealed: () => undefined,
});

describe("toPath", () => {
  it.each([
    [["issue", "labels", 0, "name"], "issue.labels[0].name"],
    [[0, "x"], "[0].x"],
    [["odd.name", 'a"b\\c', ""], '["odd.name"]["a\\"b\\\\c"][""]'],
    [["x-github-event"], "x-github-event"],
  ])("converts %j to a path", (keys, path) => {
    expect(toPath(keys)).toBe(path);
    expect(parsePath(path)).toEqual(keys);
  });

  it("returns a path that selects the value", () => {
    const path = parsePath(toPath(["issue", "labels", 1, "name"]));
    expect(valuesAt(VALUE, path ?? [])).toEqual(["bug"]);
  });
});

describe("toRows", () => {
  it("returns the rows of open values only", () => {
    expect(
      toRows(VALUE, openToDepth(0)).map(({ name, isOpen, size }) => [name, isOpen, size]),
    ).toEqual([
      ["issue", false, 2],
      ["empty", undefined, 0],
      ["note", undefined, 0],
    ]);
    expect(toRows(VALUE, openToDepth(9)).map(({ name, depth }) => [name, depth])).toEqual([
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

  it("returns one row for a scalar, an empty object or an empty array", () => {
    for (const value of ["text", 7, null, {}, []])
      expect(toRows(value, openToDepth(9))).toHaveLength(1);
  });

  it("replaces the children after the limit by one row", () => {
    const rows = toRows(
      Array.from({ length: 250 }, (_, index) => index),
      openToDepth(9),
    );
    expect(rows).toHaveLength(PAGE + 1);
    expect(rows.at(-1)?.more).toEqual({ hidden: 150 });
  });

  it("shows a revealed child after the limit with its neighbours, and hides the others", () => {
    const value = Array.from({ length: 1_000 }, (_, index) => index);
    const parents = parentsOf(value, [[500]]);
    const rows = toRows(value, { ...openToDepth(9), revealed: (id) => parents.get(id) });
    const after = rows.slice(PAGE).map(({ name, more }) => name ?? more?.hidden);
    expect(after).toEqual([395, 495, 496, 497, 498, 499, 500, 501, 502, 503, 504, 505, 494]);
    const object = Object.fromEntries(value.map((index) => [`n${index}`, index]));
    expect(parentsOf({ object }, [["object", "n998"]]).get('["object"]')).toBe(998);
  });

  it("gives every row a unique id, also if names look like paths", () => {
    const rows = toRows({ "a.b": { c: 1 }, a: { "b.c": 1, b: { c: 1 } } }, openToDepth(9));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });
});

/** Searches in the smallest steps. */
function findInJson(root: Json, text: string): SearchResult {
  const search = startSearch(root, text);
  while (!search.step(1));
  return search.result();
}

describe("startSearch", () => {
  it("finds names and values, and ignores case", () => {
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

  it("stops after 1,000 hits", () => {
    const many = findInJson(
      Array.from({ length: 5_000 }, () => "x"),
      "x",
    );
    expect([many.hits.length, many.isTruncated]).toEqual([1_000, true]);
  });
});
