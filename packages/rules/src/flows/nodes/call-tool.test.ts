import { expect, it } from "vitest";
import type { JsonObject, JsonSchema } from "../../json.ts";
import { NodeError, Permanent } from "../errors.ts";
import { type LogLine, timeLimitExceeded } from "../evaluation.ts";
import type { NodeContext, ToolResult } from "../node-type.ts";
import { testContext } from "../test-context.ts";
import { type SchemaCheck, validateInProcess } from "../validate-schema.ts";
import { callTool } from "./call-tool.ts";

const config = { connection: "weather", tool: "get", arguments: { city: "Bern" } };
const answer: ToolResult = {
  isError: false,
  content: [{ type: "text", text: "12" }],
  structured: { degrees: 12 },
  text: "12",
};
const inputSchema: JsonSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};
const outputSchema: JsonSchema = {
  type: "object",
  properties: { degrees: { type: "number" } },
  required: ["degrees"],
};

function run(
  parameters: JsonObject = {},
  result: Partial<ToolResult> = {},
  schemas: { inputSchema?: JsonSchema; outputSchema?: JsonSchema } = {},
  services: Partial<NodeContext<JsonObject>> = {},
) {
  const calls: unknown[] = [];
  const lines: LogLine[] = [];
  const context: Partial<NodeContext<JsonObject>> = {
    config: { ...config, ...parameters },
    listTools: async () => [{ name: "get", description: "", inputSchema, ...schemas }],
    evaluate: async ({ data }) => ({
      log: [],
      output: (data as unknown as SchemaCheck[]).map(
        (check) => (validateInProcess(check) ?? null) as JsonObject | null,
      ),
    }),
    async callTool(call) {
      calls.push(call);
      return { ...answer, ...result };
    },
    log: (line) => lines.push(line),
    ...services,
  };
  return { calls, lines, running: callTool.run(testContext(context)) };
}

it("calls the tool and returns its result", async () => {
  const { calls, running } = run({}, {}, { outputSchema });
  const { content, structured, text } = answer;
  expect(await running).toEqual({ output: { content, structured, text } });
  expect(calls).toEqual([config]);
});

it("fails with the text of the tool if the tool marks its result as an error", async () => {
  const content = [{ type: "text", text: "no such city" }];
  const { running } = run({}, { isError: true, content, structured: null, text: "no such city" });
  const error = await running.catch((error: unknown) => error);
  // The error is not permanent, so the node is retried according to its settings.
  expect(error).toBeInstanceOf(NodeError);
  expect(error).not.toBeInstanceOf(Permanent);
  expect(error).toMatchObject({
    code: "tool_error",
    message: "no such city",
    details: { content, structured: null },
  });
});

it("fails with a message if the tool fails without one, and omits large details", async () => {
  const content = [{ type: "image", data: "x".repeat(200_000) }];
  const { running } = run({}, { isError: true, content, structured: null, text: "" });
  await expect(running).rejects.toMatchObject({
    message: "The tool get failed without a message.",
    details: null,
  });
});

it.each<[string, JsonObject, string]>([
  ["missing", {}, 'Invalid arguments of get: arguments: missing required property "city"'],
  [
    "of a wrong type",
    { city: 7 },
    "Invalid arguments of get: arguments.city: must be a string, but is a number",
  ],
])("does not call the tool if an argument is %s", async (_, args, message) => {
  const { calls, running } = run({ arguments: args });
  await expect(running).rejects.toThrow(new Permanent(message, { code: "invalid_arguments" }));
  expect(calls).toEqual([]);
});

it("leaves the validation to the server if the schema is invalid, and logs the reason", async () => {
  const { calls, lines, running } = run({}, {}, { inputSchema: { $ref: "#/nowhere" } });
  await running;
  expect(calls).toHaveLength(1);
  expect(lines).toEqual([
    {
      level: "warn",
      text: expect.stringMatching(
        /^Not validated: arguments: cannot be validated: its schema is invalid: .*#\/nowhere/,
      ),
    },
  ]);
});

it("accepts arguments and results whose validation exceeds its time limit, and logs a warning", async () => {
  const schema: JsonSchema = { type: "object", properties: { city: { pattern: "^(a+)+$" } } };
  const { calls, lines, running } = run(
    {},
    {},
    { inputSchema: schema, outputSchema: schema },
    { evaluate: async () => ({ log: [], ...timeLimitExceeded(1_000) }) },
  );
  await running;
  expect(calls).toHaveLength(1);
  expect(lines.map(({ text }) => text)).toEqual([
    expect.stringContaining("Not validated: arguments: validation exceeds the time limit of 1 s"),
    expect.stringContaining("Not validated: structured: validation exceeds the time limit of 1 s"),
  ]);
});

it("fails if the connection has no such tool", async () => {
  const { running } = run({ tool: "set" });
  await expect(running).rejects.toMatchObject({
    code: "no_such_tool",
    message:
      "The connection weather has no tool set. Choose another tool, or check the connection.",
  });
});

it.each<[string, JsonObject | null, string]>([
  ["is missing", null, "structured: is missing, although the tool has an outputSchema"],
  ["is wrong", { degrees: "12" }, "structured.degrees: must be a number, but is a string"],
])("fails without a retry if the structured result %s", async (_, structured, message) => {
  const { running } = run({}, { structured }, { outputSchema });
  const error = await running.catch((error: unknown) => error);
  expect(error).toBeInstanceOf(Permanent);
  expect(error).toMatchObject({
    code: "invalid_result",
    message: `Invalid result of get: ${message}`,
  });
});
