/** A tool of the app's MCP server: each call starts a run. */
import { z } from "zod";
import { concurrencySchema } from "../concurrency.ts";
import { defineNode } from "../node-type.ts";
import { inputSchema, parametersSchema } from "../parameters.ts";
import { toolFields } from "../tool-fields.ts";

export const userIntentConfig = z.strictObject({
  ...toolFields,
  parameters: parametersSchema.default([]).describe("The arguments of the tool."),
  isActive: z.boolean().default(true).describe("Whether agents see the tool."),
  whenToUse: z.string().max(4000).default("").describe("Appended to the tool's description."),
  whenNotToUse: z.string().max(4000).default("").describe("Appended to the tool's description."),
  concurrency: concurrencySchema
    .optional()
    .describe("How many runs may be active at the same time."),
});

export const userIntent = defineNode({
  type: "UserIntent",
  title: "MCP tool",
  description: "Starts when an agent calls it as a tool.",
  icon: "MessageSquare",
  kind: "trigger",
  config: userIntentConfig,
  ports: { in: [], out: ["out"] },
  tool: ({ toolDescription, whenToUse, whenNotToUse, parameters, concurrency }) => ({
    description: [
      toolDescription,
      whenToUse && `When to use: ${whenToUse}`,
      whenNotToUse && `When not to use: ${whenNotToUse}`,
    ]
      .filter(Boolean)
      .join("\n\n"),
    parameters,
    concurrency,
  }),
  outputSchema: ({ parameters }) => inputSchema(parameters),
  sample: {
    config: {
      toolName: "get_weather_data",
      toolDescription: "The weather of a city, now.",
      parameters: [{ name: "city", type: "string", description: "Such as Bern" }],
    },
    input: { city: "Bern" },
    result: { output: { city: "Bern" } },
    rejects: {
      config: { toolName: "get_weather_data", toolDescription: " " },
      path: "toolDescription",
    },
  },
});
