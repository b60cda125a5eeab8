/** Converts the messages of an agent to the prompt format of the provider libraries. */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import type { ModelMessage, ModelTool } from "@signalbox/rules/flows/agent/model.ts";

/** Anthropic caches the conversation up to the message with this option: the next turn is cheaper. */
const CACHE_CONTROL: SharedV4ProviderOptions = {
  anthropic: { cacheControl: { type: "ephemeral" } },
};

export function toPrompt(messages: readonly ModelMessage[]): LanguageModelV4Prompt {
  const prompt = messages.flatMap(toMessage);
  const last = prompt.at(-1);
  if (last) last.providerOptions = CACHE_CONTROL;
  return prompt;
}

export const toFunctionTool = ({
  name,
  description,
  inputSchema,
}: ModelTool): LanguageModelV4FunctionTool => ({
  type: "function",
  name,
  description,
  // Providers require `type`. The cast is needed because the library declares JSON Schema draft 7, but
  // providers accept 2020-12 too.
  inputSchema: { type: "object", ...inputSchema } as LanguageModelV4FunctionTool["inputSchema"],
});

function toMessage(message: ModelMessage): LanguageModelV4Message[] {
  if (message.role === "system") return [{ role: "system", content: message.text }];
  if (message.role === "user")
    return [{ role: "user", content: [{ type: "text", text: message.text }] }];
  if (message.role === "tool")
    return [
      {
        role: "tool",
        content: message.results.map(({ id, tool, text, isError }) => ({
          type: "tool-result",
          toolCallId: id,
          toolName: tool,
          output: { type: isError ? "error-text" : "text", value: text },
        })),
      },
    ];
  const { text, calls, reasoning = [] } = message;
  const content: Extract<LanguageModelV4Message, { role: "assistant" }>["content"] = [
    ...reasoning.map(({ text: reasoningText, metadata }) => ({
      type: "reasoning" as const,
      text: reasoningText,
      ...(metadata && { providerOptions: metadata as SharedV4ProviderOptions }),
    })),
    // Providers reject empty texts and empty messages.
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map((call) => ({
      type: "tool-call" as const,
      toolCallId: call.id,
      toolName: call.tool,
      input: call.arguments,
    })),
  ];
  return content.length === 0 ? [] : [{ role: "assistant", content }];
}
