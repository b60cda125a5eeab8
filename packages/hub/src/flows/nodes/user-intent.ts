/** A tool of the app's MCP server: a run starts when somebody calls it. */
import { z } from "zod";
import { defineNode } from "../node-type.ts";
import { inputSchema, parametersSchema } from "../parameters.ts";

export const userIntentConfig = z.strictObject({
  // Wider than what new names follow: names that clients know already are kept as they are.
  toolName: z
    .string("must be the tool's name")
    .regex(/^[A-Za-z0-9_.-]{1,128}$/, "must be 1 to 128 letters, digits, _, . or -"),
  toolDescription: z
    .string("must say what the tool does")
    .max(4000)
    .regex(/\S/, "must not be empty: agents choose a tool by its description"),
  parameters: parametersSchema.default([]),
  isActive: z.boolean().default(true),
  whenToUse: z.string().max(4000).default(""),
  whenNotToUse: z.string().max(4000).default(""),
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
