import { expect, test } from "vitest";
import { node } from "../canvas/test-graph.ts";
import { nextFreeName, otherToolNames } from "./free-tool-name.ts";

test("the names of the other tools of the draft are taken", () => {
  const nodes = [
    node("ask", "UserIntent", { toolName: "ask" }),
    node("New one", "UserIntent"),
    node("fetch", "HttpRequest"),
    node("me", "UserIntent", { toolName: "me" }),
  ];
  expect([...otherToolNames({ nodes }, "me")]).toEqual(["ask", "new_one"]);
});

test.each([
  ["ask", [], "ask"],
  ["ask", ["ask"], "ask_2"],
  ["ask_2", ["ask"], "ask_2"],
  ["ask_2", ["ask", "ask_2"], "ask_3"],
])("if %s is free in other flows, and %j are taken in this one: %s", (free, others, assigned) =>
  expect(nextFreeName("ask", free, new Set(others))).toBe(assigned),
);
