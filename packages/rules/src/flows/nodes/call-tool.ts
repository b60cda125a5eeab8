/** Calls a tool of a connection. Its arguments are validated before the call, its result after it. */
import { z } from "zod";
import type { Json, JsonObject, JsonSchema } from "../../json.ts";
import { NodeError, Permanent } from "../errors.ts";
import { writePath } from "../issues.ts";
import { jsonObject } from "../json-value.ts";
import {
  type ConnectionTool,
  defineNode,
  type NodeContext,
  type ToolResult,
} from "../node-type.ts";
import { embedSchema } from "../subschemas.ts";
import { textSchema } from "../text-schema.ts";
import { createSchemaValidator } from "../validate-schema.ts";

const config = z.strictObject({
  connection: textSchema("must be a connection's id")
    .min(1, "must not be empty")
    .max(200)
    .describe("The id of a connection."),
  tool: textSchema("must be a tool's name")
    .min(1, "must not be empty")
    .max(200)
    .describe("The name of one of its tools."),
  arguments: jsonObject().default({}).describe("The arguments of the tool, by name."),
});

/** Error details are stored only up to this length: the result of a failed tool can contain files. */
const MAX_DETAILS = 100_000;

export const callTool = defineNode({
  type: "CallTool",
  title: "Call tool",
  description: "Calls a tool of a connection and returns its result.",
  icon: "Wrench",
  kind: "action",
  config,
  ports: { in: ["in"], out: ["out"] },
  usesTools: ({ connection, tool, arguments: args }) => [
    {
      connection,
      at: ["connection"],
      tool: { name: tool, at: ["tool"] },
      arguments: { value: args, at: ["arguments"] },
    },
  ],
  outputSchema: (_config, { tool }): JsonSchema => ({
    type: "object",
    properties: {
      content: { type: "array", items: { type: "object" } },
      structured: structuredSchema(tool),
      text: { type: "string" },
    },
    required: ["content", "structured", "text"],
    additionalProperties: false,
  }),
  sample: {
    config: { connection: "weather-7kq2xv", tool: "get_weather", arguments: { city: "Bern" } },
    rejects: {
      config: { connection: "weather-7kq2xv", tool: "get_weather", arguments: ["Bern"] },
      path: "arguments",
    },
  },
  async run(context) {
    const { connection, tool: name, arguments: args } = context.config;
    const tool = (await context.listTools(connection)).find((tool) => tool.name === name);
    if (!tool)
      throw new NodeError(
        `The connection ${connection} has no tool ${name}. Choose another tool, or check the connection.`,
        { code: "no_such_tool" },
      );
    const problem = await findProblem(context, "arguments", tool.inputSchema, args);
    if (problem)
      throw new Permanent(`Invalid arguments of ${name}: ${problem}`, {
        code: "invalid_arguments",
      });
    const result = await context.callTool({ connection, tool: name, arguments: args });
    if (result.isError) throw toolError(name, result);
    await assertStructured(context, tool, result);
    const { content, structured } = result;
    return { output: { content, structured, text: result.text } };
  },
});

type ValidationServices = Pick<NodeContext<never>, "evaluate" | "log">;

/**
 * Returns undefined also if the value cannot be validated, because the schema is invalid or a limit is
 * exceeded. Then only the server validates the value, and the log of the step contains the reason.
 */
async function findProblem(
  { evaluate, log }: ValidationServices,
  field: string,
  schema: JsonSchema,
  value: Json,
): Promise<string | undefined> {
  const [error] = await createSchemaValidator((evaluation) => evaluate(evaluation))([
    { schema, value },
  ]);
  if (!error) return undefined;
  const problem = `${writePath([field, ...error.keys])}: ${error.message}`;
  if (!error.isUnchecked) return problem;
  log({ level: "warn", text: `Not validated: ${problem}` });
  return undefined;
}

function toolError(name: string, { text, content, structured }: ToolResult): NodeError {
  const details: JsonObject = { content, structured };
  const isSmall = JSON.stringify(details).length <= MAX_DETAILS;
  return new NodeError(text || `The tool ${name} failed without a message.`, {
    code: "tool_error",
    details: isSmall ? details : null,
  });
}

/** Throws a permanent error if the result is invalid: the call has had its effects already. */
async function assertStructured(
  context: ValidationServices,
  { name, outputSchema }: ConnectionTool,
  { structured }: ToolResult,
): Promise<void> {
  if (!outputSchema) return;
  const problem =
    structured === null
      ? "structured: is missing, although the tool has an outputSchema"
      : await findProblem(context, "structured", outputSchema, structured);
  if (problem)
    throw new Permanent(`Invalid result of ${name}: ${problem}`, { code: "invalid_result" });
}

function structuredSchema(tool: ConnectionTool | undefined): JsonSchema {
  if (!tool) return {};
  if (!tool.outputSchema) return { type: ["object", "null"] };
  // `$id` would change the meaning of references.
  if (tool.outputSchema.$id !== undefined) return { type: "object" };
  const { $schema: _, ...schema } = tool.outputSchema;
  return embedSchema(schema, "/properties/structured");
}
