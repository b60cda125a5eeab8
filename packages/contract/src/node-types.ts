/** The node types and their schemas, for flow editors. */
import { z } from "zod";
import { listOf } from "./paging.ts";
import { route } from "./route.ts";

const schemaView = z.record(z.string(), z.json());

export const nodeTypeView = z.object({
  type: z.string(),
  title: z.string(),
  description: z.string(),
  icon: z.string().describe("The name of a lucide icon."),
  kind: z.enum(["trigger", "action", "logic", "data", "result"]),
  ports: z.object({
    in: z.array(z.string()),
    out: z
      .array(z.string())
      .describe("The first port is the default; a failed node continues at `error`."),
    from_parameters: z
      .boolean()
      .describe(
        "Whether `out` depends on the parameters. If so, `out` lists the ports of a node with the parameters `sample`.",
      ),
  }),
  config: schemaView.describe(
    "JSON Schema of a node's `parameters`. Except in triggers, any value may be a template such as `{{ trigger.x }}`.",
  ),
  settings: schemaView.describe("JSON Schema of `parameters.settings`."),
  sample: schemaView.describe("Valid parameters."),
});
export type NodeType = z.output<typeof nodeTypeView>;

export const nodeTypeApi = {
  list: route({
    method: "get",
    path: "/api/node-types",
    summary: "List the node types with the schemas of their parameters and settings",
    tag: "flows",
    scope: "flows:call",
    isShared: true,
    response: { status: 200, schema: listOf(nodeTypeView) },
  }),
};
