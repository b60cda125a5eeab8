/** Builds flows for tests. */
import type { JsonObject } from "../json.ts";
import type { FlowDraft, FlowEdge, FlowNode } from "./model.ts";
import { snakeCase } from "./tool-name.ts";

/** The id of the node is its slug. */
export const testNode = (type: string, name: string, parameters: JsonObject = {}): FlowNode => {
  const slug = snakeCase(name, "node");
  return { id: slug, type, name, slug, position: { x: 0, y: 0 }, parameters };
};

export const testTool = (name: string, parameters: JsonObject = {}): FlowNode =>
  testNode("UserIntent", name, {
    toolName: snakeCase(name, "tool"),
    toolDescription: "Does it.",
    ...parameters,
  });

/** `a → b` starts at the port `out` of a; `a:true → b` starts at the port `true`. */
export function testEdge(text: string): FlowEdge {
  const [from = "", target = ""] = text.split(" → ");
  const [source = "", sourceHandle = "out"] = from.split(":");
  return { id: text, source, sourceHandle, target, targetHandle: "in" };
}

export const testFlow = (nodes: FlowNode[], edges: string[] = []): FlowDraft => ({
  name: "Test",
  description: "",
  nodes,
  edges: edges.map(testEdge),
});
