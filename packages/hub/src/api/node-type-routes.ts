/** The types of nodes, as whoever draws a canvas needs them. */
import { z } from "zod";
import type { NodeDefinition, NodeRegistry } from "../flows/node-type.ts";
import { defineRoute, type Route } from "./route.ts";

const nodeTypeView = z.object({
  type: z.string(),
  title: z.string(),
  description: z.string(),
  icon: z.string(),
  kind: z.enum(["trigger", "action", "logic", "data", "result"]),
  config: z.record(z.string(), z.json()).describe("JSON Schema of a node's parameters."),
  ports: z.object({
    in: z.array(z.string()),
    out: z.array(z.string()).nullable().describe("Null where they follow from the parameters."),
  }),
  sample: z.record(z.string(), z.json()),
});

const viewType = (definition: NodeDefinition) => ({
  type: definition.type,
  title: definition.title,
  description: definition.description,
  icon: definition.icon,
  kind: definition.kind,
  config: z.toJSONSchema(definition.config, { io: "input", unrepresentable: "any" }),
  ports: { in: definition.inPorts, out: definition.outPorts({}) ?? null },
  sample: definition.sample.config,
});

export function nodeTypeRoutes(registry: NodeRegistry): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/node-types",
      summary: "List the types of nodes",
      tag: "flows",
      scope: "flows:call",
      answer: { status: 200, schema: z.object({ items: z.array(nodeTypeView) }) },
      handle: async () => ({ json: { items: [...registry.values()].map(viewType) } }),
    }),
  ];
}
