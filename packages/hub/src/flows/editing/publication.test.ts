import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { expect, it } from "vitest";
import { triggersOf } from "./publication.ts";

const node = (id: string, type: string, parameters: FlowNode["parameters"]): FlowNode => ({
  id,
  type,
  name: id,
  slug: id,
  position: { x: 0, y: 0 },
  parameters,
});

it("creates a row for each trigger, with the fields by which tool calls and events find it", () => {
  const nodes = [
    node("ask", "UserIntent", {
      toolName: "ask",
      toolDescription: "Asks.",
      whenToUse: "Often",
      whenNotToUse: "At night",
      parameters: [{ name: "x", type: "number" }],
      concurrency: { most: 2, key: "x" },
      settings: { timeoutMs: 5 },
    }),
    node("off", "UserIntent", { toolName: "off", toolDescription: "Off.", isActive: false }),
    node("issue", "Event", { source: "github", type: " ", params: { action: "opened" } }),
    node("end", "Return", { value: { n: 1 } }),
  ];
  const edges = [
    { id: "e", source: "ask", sourceHandle: "out", target: "end", targetHandle: "in" },
  ];
  expect(triggersOf({ nodes, edges }, nodeTypes, 0)).toMatchObject([
    {
      node_id: "ask",
      kind: "intent",
      tool_name: "ask",
      source: null,
      active: true,
      config: {
        title: "ask",
        description: "Asks.\n\nWhen to use: Often\n\nWhen not to use: At night",
        inputSchema: { type: "object", required: ["x"], properties: { x: { type: "number" } } },
        outputSchema: { type: "object" },
        concurrency: { most: 2, key: "x" },
      },
    },
    { node_id: "off", active: false, config: { description: "Off." } },
    { node_id: "issue", kind: "event", source: "github", type: null, tool_name: null },
  ]);
});
