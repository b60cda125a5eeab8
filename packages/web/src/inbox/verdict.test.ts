import type { ExplainedTrigger } from "@signalbox/contract";
import { expect, it } from "vitest";
import { countOf, findDecidingFields, linesOf, sortTriggers, stateOf } from "./verdict.ts";

type Reasons = NonNullable<ExplainedTrigger["reasons"]>;
const trigger = (
  flow_name: string,
  matched: boolean,
  reasons: Reasons,
  run_status: string | null = null,
) => ({ flow_name, matched, reasons, run_status }) as ExplainedTrigger;
const compared = (
  on: Reasons[number]["on"],
  holds: boolean,
  [op, actual, wanted]: [op: Reasons[number]["op"], actual: string[], wanted: string[]],
): Reasons[number] => ({
  on,
  holds,
  op,
  actual,
  wanted,
  message: "not shown",
});
const param = (path: string, holds: boolean): Reasons[number] => ({
  on: "param",
  path,
  holds,
  message: path,
});
const source: Reasons[number] = { on: "source", holds: true, message: "source is github" };

it("returns the fields because of which a trigger did not match, otherwise those of a match", () => {
  const triggers = [
    trigger("CI / CD", true, [source, param("action", true)]),
    trigger("Hotline", false, [source, param("action", true), param("issue.labels[].name", false)]),
  ];
  expect(findDecidingFields(triggers)).toEqual({
    flowName: "Hotline",
    paths: ["issue.labels[].name"],
  });
  expect(findDecidingFields(triggers.slice(0, 1))).toEqual({
    flowName: "CI / CD",
    paths: ["action"],
  });
  expect(findDecidingFields([trigger("Any", true, [source])])).toBeUndefined();
});

it("returns the state of a trigger's run, or why there is no run", () => {
  const off: Reasons = [{ on: "active", holds: false, message: "the trigger is switched off" }];
  expect(stateOf(trigger("a", false, off))).toEqual({ text: "switched off" });
  expect(stateOf(trigger("a", false, [param("x", false)]))).toEqual({ text: "did not start" });
  expect(stateOf(trigger("a", true, [], "failed"))).toEqual({ text: "run failed", tone: "red" });
  expect(stateOf(trigger("a", true, []))).toEqual({ text: "would start now" });
  expect(stateOf({ ...trigger("a", false, []), decided: "pending" })).toEqual({
    text: "waits for filters",
    tone: "lunar",
  });
});

const textOf = (reasons: Reasons) =>
  linesOf({ reasons }).map(({ holds, parts }) => [
    holds,
    parts.map(({ text, isCode }) => (isCode ? `<${text}>` : text)).join(""),
  ]);

it("converts reasons to lines, without the condition that the trigger is active", () => {
  expect(
    textOf([
      { on: "active", holds: true, message: "the trigger is active" },
      compared("source", true, ["eq", ["github"], ["github"]]),
      compared("type", true, ["eq", ["issues"], ["issues"]]),
      {
        ...compared("param", false, ["eq", ["a, b, wanted c", "d"], ["bug"]]),
        path: "issue.labels[].name",
      },
      { ...compared("param", false, ["gt", [], ["10"]]), path: "issue.number" },
      { on: "filter", holds: false, message: "the filter is false" },
    ]),
  ).toEqual([
    [true, "source is <github>, type is <issues>"],
    [false, '<issue.labels[].name> is <"a, b, wanted c", "d">, wanted <"bug">'],
    [false, '<issue.number> does not exist, wanted <gt "10">'],
    [false, "the filter is false"],
  ]);
});

it("shows the messages of verdicts that an earlier version has stored", () => {
  expect(
    textOf([
      { on: "source", holds: true, message: 'source is "github", wanted "github"' },
      { on: "type", holds: false, message: 'type is "issues", wanted "star"' },
    ]),
  ).toEqual([
    [true, 'source is "github", wanted "github"'],
    [false, 'type is "issues", wanted "star"'],
  ]);
});

it("returns a line for a type that does not match, and no lines for a trigger that is switched off", () => {
  expect(textOf([source, compared("type", false, ["eq", ["issues"], ["star"]])]).at(-1)).toEqual([
    false,
    '<type> is <"issues">, wanted <"star">',
  ]);
  expect(
    textOf([{ on: "active", holds: false, message: "the trigger is not active" }, source]),
  ).toEqual([]);
});

it("separates triggers that listen to other events, and sorts matches before near misses", () => {
  const far = trigger("far", false, [{ on: "type", holds: false, message: "x" }]);
  const off = trigger("off", false, [{ on: "active", holds: false, message: "x" }, source]);
  const miss = trigger("miss", false, [source, param("x", false)]);
  const hit = trigger("hit", true, [source]);
  const { near, far: others } = sortTriggers([far, off, miss, hit]);
  expect(near.map((each) => each.flow_name)).toEqual(["hit", "miss", "off"]);
  expect(others).toEqual([far]);
});

it("shows that more triggers were not counted", () => {
  expect([0, 1_000, 1_001].map(countOf)).toEqual(["0", "1,000", "1,000+"]);
});
