/** Runs an agent against a scripted model. Recorded parts are kept, as the hub keeps them. */
import type { Json, JsonObject } from "../../json.ts";
import type { NodeContext, ToolResult } from "../node-type.ts";
import { agent } from "../nodes/agent.ts";
import { testContext } from "../test-context.ts";
import { validateInProcess } from "../validate-schema.ts";
import type { ModelAnswer, ModelRequest } from "./model.ts";

export const answer = (given: Partial<ModelAnswer> = {}): ModelAnswer => ({
  text: "",
  calls: [],
  finish: "stop",
  usage: { input_tokens: 10, output_tokens: 5 },
  ...given,
});

export const call = (tool: string, args: JsonObject = {}, id = tool) => ({
  id,
  tool,
  arguments: args,
});

export const toolResult = (text: string, given: Partial<ToolResult> = {}): ToolResult => ({
  isError: false,
  content: [{ type: "text", text }],
  structured: null,
  text,
  ...given,
});

const model = { provider: "anthropic", name: "fake", apiKey: "key" };

export interface TestAgentOptions extends Partial<NodeContext<JsonObject>> {
  parts?: Map<string, Json>;
}

/** `script` is the answers, or a function of the request and its number. */
export function createTestAgent(
  config: JsonObject,
  script: ModelAnswer[] | ((request: ModelRequest, nth: number) => ModelAnswer),
  { parts = new Map(), ...given }: TestAgentOptions = {},
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
    ...given,
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
