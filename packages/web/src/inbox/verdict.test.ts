import { expect, it } from "vitest";
import type { ExplainedTrigger } from "../api/types.ts";
import { decidingOf, linesOf, sortTriggers, stateOf } from "./verdict.ts";

type Reasons = NonNullable<ExplainedTrigger["reasons"]>;
const trigger = (
  name: string,
  matched: boolean,
  reasons: Reasons,
  run_status: string | null = null,
) => ({ trigger: name, matched, reasons, run_status }) as ExplainedTrigger;
const param = (path: string, holds: boolean): Reasons[number] => ({
  on: "param",
  path,
  holds,
  message: path,
});
const source: Reasons[number] = { on: "source", holds: true, message: "source is github" };

it("shows where the first trigger that did not match looked", () => {
  const triggers = [
    trigger("Triage / Opened", true, [source, param("action", true)]),
    trigger("Hotline / Bug", false, [
      source,
      param("action", true),
      param("issue.labels[].name", false),
    ]),
  ];
  expect(decidingOf(triggers)).toEqual({ name: "Hotline", paths: ["issue.labels[].name"] });
  expect(decidingOf(triggers.slice(0, 1))).toEqual({ name: "Triage", paths: ["action"] });
  expect(decidingOf([trigger("Any / x", true, [source])])).toBeUndefined();
});

it("says what became of a trigger", () => {
  const off: Reasons = [{ on: "active", holds: false, message: "the trigger is switched off" }];
  expect(stateOf(trigger("a", false, off))).toEqual({ text: "switched off" });
  expect(stateOf(trigger("a", false, [param("x", false)]))).toEqual({ text: "did not start" });
  expect(stateOf(trigger("a", true, [], "failed"))).toEqual({ text: "run failed", tone: "red" });
  expect(stateOf(trigger("a", true, []))).toEqual({ text: "would start now" });
});

const textOf = (reasons: Reasons) =>
  linesOf({ reasons }).map(({ holds, parts }) => [
    holds,
    parts.map(({ text, isCode }) => (isCode ? `<${text}>` : text)).join(""),
  ]);

it("words the reasons, without what always holds", () => {
  expect(
    textOf([
      { on: "active", holds: true, message: "the trigger is active" },
      { on: "source", holds: true, message: 'source is "github", wanted "github"' },
      { on: "type", holds: true, message: 'type is "issues", wanted "issues"' },
      {
        on: "param",
        path: "issue.labels[].name",
        holds: false,
        message: 'issue.labels[].name is "a, b", wanted "bug"',
      },
      { on: "filter", holds: false, message: "the filter is false" },
    ]),
  ).toEqual([
    [true, "source is <github>, type is <issues>"],
    [false, '<issue.labels[].name> is <"a, b">, wanted <"bug">'],
    [false, "the filter is false"],
  ]);
});

it("shows a failed type, and nothing for a trigger that is switched off", () => {
  expect(
    textOf([source, { on: "type", holds: false, message: 'type is "issues", wanted "star"' }]).at(
      -1,
    ),
  ).toEqual([false, '<type> is <"issues">, wanted <"star">']);
  expect(
    textOf([{ on: "active", holds: false, message: "the trigger is not active" }, source]),
  ).toEqual([]);
});

it("puts near misses before what listens to other events", () => {
  const far = trigger("far", false, [{ on: "type", holds: false, message: "x" }]);
  const off = trigger("off", false, [{ on: "active", holds: false, message: "x" }, source]);
  const miss = trigger("miss", false, [source, param("x", false)]);
  const hit = trigger("hit", true, [source]);
  const { near, far: others } = sortTriggers([far, off, miss, hit]);
  expect(near.map((each) => each.trigger)).toEqual(["hit", "miss", "off"]);
  expect(others).toEqual([far]);
});
