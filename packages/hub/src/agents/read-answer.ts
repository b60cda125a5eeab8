/** Reads an answer from its stream. Rejects if the stream ends early or reports an error. */
import {
  InvalidResponseDataError,
  type LanguageModelV4StreamPart,
  type SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import type {
  ModelAnswer,
  ModelCall,
  ModelReasoning,
  ModelUsage,
} from "@signalbox/rules/flows/agent/model.ts";
import { NodeError, Permanent } from "@signalbox/rules/flows/errors.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";

/** The limit for text, reasoning and arguments together. */
const MAX_ANSWER_CHARACTERS = 4_000_000;
const MAX_QUOTED_CHARACTERS = 200;

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

export async function readAnswer(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  /** For an estimate of the usage, if the provider reports none. */
  requestCharacters: number,
): Promise<ModelAnswer> {
  let text = "";
  let answerCharacters = 0;
  const calls: ModelCall[] = [];
  const reasoning = new Map<string, ModelReasoning>();
  let finish: Finish | undefined;

  for await (const part of stream as AsyncIterable<LanguageModelV4StreamPart>) {
    if ("delta" in part) answerCharacters += part.delta.length;
    if (answerCharacters > MAX_ANSWER_CHARACTERS)
      throw new Permanent(`The model's answer exceeds ${MAX_ANSWER_CHARACTERS} characters.`, {
        code: "model_answer_too_large",
      });
    if (part.type === "text-delta") text += part.delta;
    else if (part.type === "tool-call") calls.push(readCall(part));
    else if (isReasoning(part)) {
      const current = reasoning.get(part.id) ?? { text: "" };
      const delta = part.type === "reasoning-delta" ? part.delta : "";
      const metadata = mergeMetadata(current.metadata, part.providerMetadata);
      reasoning.set(part.id, { text: current.text + delta, ...(metadata && { metadata }) });
    } else if (part.type === "error")
      throw isEarlyEnd(part.error) ? incompleteAnswer() : part.error;
    else if (part.type === "finish") finish = part;
  }
  const reason = finish?.finishReason.unified;
  if (!finish || reason === "interrupted" || reason === "error" || hasNoReason(finish))
    throw incompleteAnswer();
  return {
    text,
    calls,
    ...(reasoning.size > 0 && { reasoning: [...reasoning.values()] }),
    finish: reason === "length" ? "length" : reason === "content-filter" ? "refused" : "stop",
    usage: usageOf(finish, requestCharacters, answerCharacters),
  };
}

const incompleteAnswer = () =>
  new NodeError("The model's answer is incomplete: its stream ended early or with an error.", {
    code: "model_stream_cut",
  });

/** The library for OpenAI reports a stream without a finish reason as this error. */
const isEarlyEnd = (error: unknown): boolean =>
  InvalidResponseDataError.isInstance(error) && error.data === undefined;

type ReasoningPart = Extract<
  LanguageModelV4StreamPart,
  { type: "reasoning-start" | "reasoning-delta" | "reasoning-end" }
>;
const isReasoning = (part: LanguageModelV4StreamPart): part is ReasoningPart =>
  part.type.startsWith("reasoning-") && part.type !== "reasoning-file";

/** The libraries report a stream without a stop reason as `other`. */
const hasNoReason = ({ finishReason }: Finish): boolean =>
  finishReason.unified === "other" && finishReason.raw === undefined;

function readCall({
  toolCallId,
  toolName,
  input,
}: {
  toolCallId: string;
  toolName: string;
  input: string;
}): ModelCall {
  const call = { id: toolCallId, tool: toolName };
  try {
    const parsed: unknown = JSON.parse(input.trim() || "{}");
    if (isObject(parsed)) return { ...call, arguments: parsed };
  } catch {
    // The invalid JSON is reported below.
  }
  const problem = `The arguments must be a JSON object, but were: ${input.slice(0, MAX_QUOTED_CHARACTERS)}`;
  return { ...call, arguments: {}, problem };
}

const mergeMetadata = (
  current: JsonObject | undefined,
  added: SharedV4ProviderMetadata | undefined,
): JsonObject | undefined => {
  if (!added) return current;
  const merged: JsonObject = { ...current };
  for (const [provider, values] of Object.entries(added)) {
    const existing = merged[provider];
    merged[provider] = { ...(isObject(existing) ? existing : {}), ...(values as JsonObject) };
  }
  return merged;
};

/** In English, a token has about four characters. */
const estimateTokens = (characters: number): number => Math.ceil(characters / 4);

function usageOf(
  { usage }: Finish,
  requestCharacters: number,
  answerCharacters: number,
): ModelUsage {
  return {
    input_tokens: usage.inputTokens.total ?? estimateTokens(requestCharacters),
    output_tokens: usage.outputTokens.total ?? estimateTokens(answerCharacters),
  };
}
