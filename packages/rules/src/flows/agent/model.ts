/** Types of the conversation of an `Agent` node with a model, independent of the provider. */
import type { JsonObject, JsonSchema } from "../../json.ts";

export const MODEL_PROVIDERS = ["anthropic", "openai"] as const;

export interface ModelChoice {
  /** The wire format: Anthropic Messages, or OpenAI-compatible chat completions. */
  provider: (typeof MODEL_PROVIDERS)[number];
  name: string;
  /** If omitted, the public API of the provider. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  /** The maximum number of tokens of one answer. */
  maxOutputTokens?: number | undefined;
}

export interface ModelTool {
  name: string;
  description: string;
  inputSchema: JsonSchema;
}

export interface ModelCall {
  id: string;
  /** The name as the model wrote it. */
  tool: string;
  arguments: JsonObject;
  /** Set if the arguments are not a JSON object. */
  problem?: string;
}

/** Reasoning of a model. Some providers require it, with its signature, in the next request. */
export interface ModelReasoning {
  text: string;
  metadata?: JsonObject;
}

export interface ModelUsage {
  input_tokens: number;
  output_tokens: number;
}

export interface ModelAnswer {
  text: string;
  calls: ModelCall[];
  reasoning?: ModelReasoning[];
  /** `length`: cut off at the maximum number of output tokens. `refused`: stopped by the provider. */
  finish: "stop" | "length" | "refused";
  usage: ModelUsage;
}

export interface ModelToolResult {
  id: string;
  tool: string;
  text: string;
  isError: boolean;
}

export type ModelMessage =
  | { role: "system"; text: string }
  | { role: "user"; text: string }
  | ({ role: "assistant" } & Pick<ModelAnswer, "text" | "calls" | "reasoning">)
  | { role: "tool"; results: readonly ModelToolResult[] };

/** The code of the error if an answer exceeds `timeoutMs`. */
export const MODEL_TIMEOUT = "model_timeout";

export interface ModelRequest {
  model: ModelChoice;
  messages: readonly ModelMessage[];
  tools: readonly ModelTool[];
  /** How many tokens the agent may still use. */
  tokensLeft: number;
  /** The time limit of the whole answer. */
  timeoutMs: number;
}
