import { expect, test } from "vitest";
import { node } from "../canvas/test-graph.ts";
import { nextFreeName, otherToolNames } from "./free-tool-name.ts";

test("returns the names of the draft's other tools, derived from the node's name if it has none yet", () => {
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
])("if the hub suggests %s and the draft uses %j, returns %s", (suggestion, others, assigned) =>
  expect(nextFreeName("ask", suggestion, new Set(others))).toBe(assigned),
);
