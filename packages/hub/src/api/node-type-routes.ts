/** The types of nodes, as whoever draws a canvas or writes a flow needs them. */

import {
  ITEM_PORT,
  type NodeDefinition,
  type NodeRegistry,
  nodeSettings,
} from "@signalbox/rules/flows/node-type.ts";
import { z } from "zod";
import { defineRoute, type Route } from "./route.ts";

const schemaView = z.record(z.string(), z.json());

const nodeTypeView = z.object({
  type: z.string(),
  title: z.string(),
  description: z.string(),
  icon: z.string().describe("The name of a lucide icon."),
  kind: z.enum(["trigger", "action", "logic", "data", "result"]),
  ports: z.object({
    in: z.array(z.string()),
    out: z
      .array(z.string())
      .describe("The first is where a run goes on by default; `error` is taken by what failed."),
    from_parameters: z
      .boolean()
      .describe("Whether `out` follows from the parameters; here it is that of `sample`."),
  }),
  config: schemaView.describe(
    "JSON Schema of a node's `parameters`. Where it is no trigger, a template such as `{{ trigger.x }}` may stand for any value.",
  ),
  settings: schemaView.describe("JSON Schema of `parameters.settings`."),
  sample: schemaView.describe("Parameters that hold."),
});

const toJsonSchema = (schema: z.ZodType) => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
};

const runSettings = z.strictObject({
  timeoutMs: nodeSettings.shape.timeoutMs.describe(
    "For the whole run; a day where nothing is said.",
  ),
});

/** A loop is not tried again as a whole, and takes as long as its rounds. */
const loopSettings = nodeSettings.pick({ continueOnError: true });

const settingsOf = ({ kind, locals }: NodeDefinition): z.ZodType =>
  kind === "trigger" ? runSettings : Object.hasOwn(locals, ITEM_PORT) ? loopSettings : nodeSettings;

const viewType = (definition: NodeDefinition) => {
  const { type, title, description, icon, kind, config, inPorts, sample } = definition;
  const always = definition.outPorts({});
  return {
    type,
    title,
    description,
    icon,
    kind,
    ports: {
      in: inPorts,
      out: always ?? definition.outPorts(sample.config) ?? [],
      from_parameters: always === undefined,
    },
    config: toJsonSchema(config),
    settings: toJsonSchema(settingsOf(definition)),
    sample: sample.config,
  };
};

/** What `parameters` of a node hold, by the name that the OpenAPI document has for it. */
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
      summary: "List the types of nodes, with the schemas of their parameters and settings",
      tag: "flows",
      scope: "flows:call",
      isShared: true,
      answer: { status: 200, schema: z.object({ items: z.array(nodeTypeView) }) },
      handle: async () => ({ json: { items: [...registry.values()].map(viewType) } }),
    }),
  ];
}
