/** A tool of the app's MCP server: a run starts when somebody calls it. */
import { z } from "zod";
import { concurrencySchema } from "../concurrency.ts";
import { defineNode } from "../node-type.ts";
import { inputSchema, parametersSchema } from "../parameters.ts";
import { text } from "../text.ts";

export const userIntentConfig = z.strictObject({
  // Wider than what new names follow: names that clients know already are kept as they are.
  toolName: text("must be the tool's name")
    .regex(/^[A-Za-z0-9_.-]{1,128}$/, "must be 1 to 128 letters, digits, _, . or -")
    .describe("The tool's name; where it is left out, it follows from the node's name."),
  toolDescription: text("must say what the tool does")
    .max(4000)
    .regex(/\S/, "must not be empty: agents choose a tool by its description")
    .describe("What the tool does: agents choose by it."),
  parameters: parametersSchema.default([]).describe("What the tool is told."),
  isActive: z.boolean().default(true).describe("Whether agents see the tool."),
  whenToUse: z.string().max(4000).default("").describe("Added to the description."),
  whenNotToUse: z.string().max(4000).default("").describe("Added to the description."),
  concurrency: concurrencySchema.optional().describe("How many runs may be under way at once."),
});

export const userIntent = defineNode({
  type: "UserIntent",
  title: "MCP tool",
  description: "Starts when an agent calls it as a tool.",
  icon: "MessageSquare",
  kind: "trigger",
  config: userIntentConfig,
  ports: { in: [], out: ["out"] },
  outputSchema: ({ parameters }) => inputSchema(parameters),
  sample: {
    config: {
      toolName: "get_weather_data",
      toolDescription: "The weather of a city, now.",
      parameters: [{ name: "city", type: "string", description: "Such as Bern" }],
    },
    input: { city: "Bern" },
    result: { output: { city: "Bern" } },
    refuses: {
      config: { toolName: "get_weather_data", toolDescription: " " },
      path: "toolDescription",
    },
  },
});
