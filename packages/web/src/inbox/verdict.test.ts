import { expect, it } from "vitest";
import type { ExplainedTrigger } from "../api/types.ts";
import { decidingOf, stateOf } from "./verdict.ts";

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
