/** Runs an agent with a scripted model. Like the hub, it records parts, and does not repeat them. */
import type { Json, JsonObject } from "../../json.ts";
import type { NodeContext, ToolResult } from "../node-type.ts";
import { agent } from "../nodes/agent.ts";
import { testContext } from "../test-context.ts";
import { validateInProcess } from "../validate-schema.ts";
import type { ModelAnswer, ModelRequest } from "./model.ts";

export const answer = (fields: Partial<ModelAnswer> = {}): ModelAnswer => ({
  text: "",
  calls: [],
  finish: "stop",
  usage: { input_tokens: 10, output_tokens: 5 },
  ...fields,
});

export const call = (tool: string, args: JsonObject = {}, id = tool) => ({
  id,
  tool,
  arguments: args,
});

export const toolResult = (text: string, fields: Partial<ToolResult> = {}): ToolResult => ({
  isError: false,
  content: [{ type: "text", text }],
  structured: null,
  text,
  ...fields,
});

const model = { provider: "anthropic", name: "fake", apiKey: "key" };

export interface TestAgentOptions extends Partial<NodeContext<JsonObject>> {
  /** The outputs of recorded parts, by name. */
  parts?: Map<string, Json>;
}

/** `script` contains the answers of the model, or returns the answer to the request with this number. */
export function createTestAgent(
  config: JsonObject,
  script: ModelAnswer[] | ((request: ModelRequest, number: number) => ModelAnswer),
  { parts = new Map(), ...overrides }: TestAgentOptions = {},
) {
  const requests: ModelRequest[] = [];
  let nonces = 0;
  const context = testContext({
    config: { model, instructions: "Help.", ...config },
    input: { title: "hello" },
    newNonce: () => `nonce${++nonces}`,
    async record(part, _input, work) {
      if (!parts.has(part)) parts.set(part, structuredClone(await work()));
      return parts.get(part) as Json;
    },
    evaluate: async ({ data }) => ({
      log: [],
      output: (data as { schema: JsonObject; value: Json }[]).map(
        (check) => (validateInProcess(check) ?? null) as Json,
      ),
    }),
    async model(request) {
      requests.push(request);
      const next = typeof script === "function" ? script(request, requests.length) : script.shift();
      if (!next) throw new Error("no more answers");
      return next;
    },
    ...overrides,
  });
  return {
    requests,
    parts,
    async run(): Promise<Json> {
      const result = await agent.run(context);
      return "output" in result ? (result.output as Json) : null;
    },
  };
}
