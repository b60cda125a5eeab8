import { expect, it } from "vitest";
import { iterationText, ordinal, partText, stepKey } from "./step-names.ts";

it.each([
  ["", ""],
  ["each:2", "item 3"],
  ["outer:0/inner:4", "item 1.5"],
  ["each:2#turn-1", "item 3"],
])("names the iteration of %j as %j", (item, text) => expect(iterationText({ item })).toBe(text));

it.each([
  ["each:2", undefined],
  ["#prompt", "prompt"],
  ["#turn-12", "turn 12"],
  ["each:2#tool-1-2", "tool 1.2"],
])("names the part of %j as %j", (item, text) => expect(partText({ item })).toBe(text));

it("returns the key of the step for its parts", () =>
  expect(stepKey({ node_id: "a", item: "each:1#turn-1" })).toBe(
    stepKey({ node_id: "a", item: "each:1" }),
  ));

it("writes ordinal numbers", () =>
  expect([1, 2, 3, 4, 11, 12, 21, 113].map(ordinal)).toEqual([
    "1st",
    "2nd",
    "3rd",
    "4th",
    "11th",
    "12th",
    "21st",
    "113th",
  ]));
