/** Lists the node types and their schemas, for flow editors. */

import {
  ITEM_PORT,
  type NodeDefinition,
  type NodeRegistry,
  nodeSettings,
} from "@signalbox/rules/flows/node-type.ts";
import { z } from "zod";
import { defineRoute, type Route } from "../../kernel/http/route.ts";

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

const toJsonSchema = (schema: z.ZodType) => {
  const generated = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const { $schema: _, ...jsonSchema } = generated;
  return jsonSchema;
};

const runSettings = z.strictObject({
  timeoutMs: nodeSettings.shape.timeoutMs.describe(
    "The time limit of the whole run; by default one day.",
  ),
});

/** A loop has no retries and no timeout; the nodes in its body have them. */
const loopSettings = nodeSettings.pick({ continueOnError: true });

const settingsOf = ({ kind, locals }: NodeDefinition): z.ZodType =>
  kind === "trigger" ? runSettings : Object.hasOwn(locals, ITEM_PORT) ? loopSettings : nodeSettings;

const viewType = (definition: NodeDefinition) => {
  const { type, title, description, icon, kind, config, inPorts, sample } = definition;
  const fixedPorts = definition.outPorts({});
  return {
    type,
    title,
    description,
    icon,
    kind,
    ports: {
      in: inPorts,
      out: fixedPorts ?? definition.outPorts(sample.config) ?? [],
      from_parameters: fixedPorts === undefined,
    },
    config: toJsonSchema(config),
    settings: toJsonSchema(settingsOf(definition)),
    sample: sample.config,
  };
};

/** Returns the schemas of `parameters`, by their names in the OpenAPI document. */
export const parameterSchemas = (registry: NodeRegistry): Record<string, z.ZodType> =>
  Object.fromEntries(
    [...registry.values()].map((definition) => [
      `${definition.type}Parameters`,
      z
        .strictObject({ ...definition.config.shape, settings: settingsOf(definition).optional() })
        .describe(`The \`parameters\` of a node of type ${definition.type}.`),
    ]),
  );

export function nodeTypeRoutes(registry: NodeRegistry): Route[] {
  return [
    defineRoute({
      method: "get",
      path: "/api/node-types",
      summary: "List the node types with the schemas of their parameters and settings",
      tag: "flows",
      scope: "flows:call",
      isShared: true,
      response: { status: 200, schema: z.object({ items: z.array(nodeTypeView) }) },
      handle: async () => ({ json: { items: [...registry.values()].map(viewType) } }),
    }),
  ];
}
