/** Nodes and edges for tests, and a small flow with two triggers and a condition. */
import type { FlowNode, Graph } from "./graph.ts";

export const node = (
  id: string,
  type: string,
  parameters: FlowNode["parameters"] = {},
  position = { x: 0, y: 0 },
): FlowNode => ({ id, type, name: id, slug: id, position, parameters });

export const edge = (source: string, target: string, sourceHandle = "out") => ({
  id: `${source}-${sourceHandle}-${target}`,
  source,
  sourceHandle,
  target,
  targetHandle: "in",
});

export const sampleGraph = (): Graph => ({
  name: "Triage",
  description: "",
  nodes: [
    node("ask", "UserIntent", { toolName: "ask", toolDescription: "Asks." }),
    node("opened", "Event", { source: "github", type: "issues" }),
    node("fetch", "HttpRequest", { url: "https://example.com" }),
    node("is_bug", "Condition", { conditions: [{ left: "{{ fetch.body }}", op: "eq", right: 1 }] }),
    node("answer", "Return", { value: "{{ fetch.status }}" }),
    node("shape", "Transform", { expression: "nodes.fetch.status" }),
  ],
  edges: [
    edge("ask", "fetch"),
    edge("opened", "shape"),
    edge("fetch", "is_bug"),
    edge("is_bug", "answer", "true"),
  ],
});
