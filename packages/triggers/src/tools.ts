/** The tools TRIGGER_LIST and TRIGGER_CONFIGURE, for `registerTool` of versions 1 and 2 of the MCP SDK. */
import { z } from "zod";
import type { ConfigureRequest } from "./configure.ts";
import type { TriggerDescription } from "./describe-trigger.ts";
import { messageOf } from "./trigger-error.ts";

type ToolResult = {
  content: { type: "text"; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

/** Register it with `server.registerTool(tool.name, tool.config, tool.handler)`. */
export interface TriggerTool {
  name: "TRIGGER_LIST" | "TRIGGER_CONFIGURE";
  config: {
    title: string;
    description: string;
    inputSchema: z.ZodObject;
    outputSchema: z.ZodObject;
    annotations: { readOnlyHint: boolean; idempotentHint: boolean; openWorldHint: boolean };
  };
  handler: (args: Record<string, unknown>, context: unknown) => Promise<ToolResult>;
}

const configureInput = z.object({
  type: z.string().min(1).describe("A trigger type that TRIGGER_LIST returns."),
  params: z
    .record(z.string(), z.unknown())
    .default({})
    .describe("Values of the params of this type. Numbers and booleans may be strings."),
  enabled: z.boolean().describe("true creates or changes the subscription, false ends it."),
  callbackUrl: z
    .string()
    .optional()
    .meta({ format: "uri" })
    .describe(
      "The URL to which events are POSTed. Without callbackUrl and callbackToken, the former ones stay.",
    ),
  callbackToken: z.string().optional().describe("The bearer token that the callbacks contain."),
  subscriptionId: z
    .string()
    .min(1)
    .optional()
    .describe("Identifies this subscription. Without it, there is one subscription per type."),
});

const listInput = z.object({});
const listOutput = z.looseObject({ triggers: z.array(z.looseObject({ type: z.string() })) });
const configureOutput = z.looseObject({
  success: z.boolean(),
  stored: z
    .boolean()
    .optional()
    .describe("Whether the server keeps its subscriptions and their tokens when it restarts."),
});

// The MCP SDK may use another version of Zod than this package, and cannot convert its schemas. So
// each schema returns a JSON Schema that is created here.
for (const schema of [listInput, configureInput, listOutput, configureOutput]) {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input" });
  schema._zod.toJSONSchema = () => structuredClone(json);
}

export function createTools(
  descriptions: readonly TriggerDescription[],
  configure: (request: ConfigureRequest, context: unknown) => Promise<void>,
  isDurable: boolean,
): TriggerTool[] {
  return [
    {
      name: "TRIGGER_LIST",
      config: {
        title: "List triggers",
        description: "Lists the types of events that this server can send, with their params.",
        inputSchema: listInput,
        outputSchema: listOutput,
        annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
      },
      handler: async () => toToolResult({ triggers: descriptions }),
    },
    {
      name: "TRIGGER_CONFIGURE",
      config: {
        title: "Configure a trigger",
        description: "Starts, changes or ends a subscription to events of one type.",
        inputSchema: configureInput,
        outputSchema: configureOutput,
        annotations: { readOnlyHint: false, idempotentHint: true, openWorldHint: true },
      },
      async handler(args, context) {
        try {
          await configure(configureInput.parse(args), context);
          return toToolResult({ success: true, ...(isDurable && { stored: true }) });
        } catch (error) {
          return { content: [{ type: "text", text: messageOf(error) }], isError: true };
        }
      },
    },
  ];
}

/** The result is also sent as text, for clients that do not read structured content. */
const toToolResult = (result: Record<string, unknown>): ToolResult => ({
  content: [{ type: "text", text: JSON.stringify(result) }],
  structuredContent: result,
});
