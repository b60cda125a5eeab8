/** Lists the node types and their schemas, for flow editors. */

import { nodeTypeApi } from "@signalbox/contract/node-types.ts";
import {
  ITEM_PORT,
  type NodeDefinition,
  type NodeRegistry,
  nodeSettings,
} from "@signalbox/rules/flows/node-type.ts";
import type { JsonSchema } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { implement, type Route } from "../../kernel/http/route.ts";

const toJsonSchema = (schema: z.ZodType): JsonSchema => {
  const generated = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const { $schema: _, ...jsonSchema } = generated;
  return jsonSchema as JsonSchema;
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
      in: [...inPorts],
      out: [...(fixedPorts ?? definition.outPorts(sample.config) ?? [])],
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
    implement(nodeTypeApi.list, async () => ({
      json: { items: [...registry.values()].map(viewType) },
    })),
  ];
}
