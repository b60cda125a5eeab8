/** Collects the stream of an answer. A stream that ends early or reports an error rejects. */
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

/** Characters of text, reasoning and arguments together. */
const MAX_ANSWER = 4_000_000;
const MAX_QUOTED = 200;

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

export async function readAnswer(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  /** Used if the provider reports no usage. */
  requestCharacters: number,
): Promise<ModelAnswer> {
  let text = "";
  let size = 0;
  const calls: ModelCall[] = [];
  const reasoning = new Map<string, ModelReasoning>();
  let finish: Finish | undefined;

  for await (const part of stream as AsyncIterable<LanguageModelV4StreamPart>) {
    if ("delta" in part) size += part.delta.length;
    if (size > MAX_ANSWER)
      throw new Permanent(`The model's answer exceeds ${MAX_ANSWER} characters.`, {
        code: "model_answer_too_large",
      });
    if (part.type === "text-delta") text += part.delta;
    else if (part.type === "tool-call") calls.push(readCall(part));
    else if (isReasoning(part)) {
      const known = reasoning.get(part.id) ?? { text: "" };
      const delta = part.type === "reasoning-delta" ? part.delta : "";
      const metadata = withMetadata(known.metadata, part.providerMetadata);
      reasoning.set(part.id, { text: known.text + delta, ...(metadata && { metadata }) });
    } else if (part.type === "error") throw isEarlyEnd(part.error) ? cutOff() : part.error;
    else if (part.type === "finish") finish = part;
  }
  const reason = finish?.finishReason.unified;
  if (!finish || reason === "interrupted" || reason === "error" || isUnknown(finish))
    throw cutOff();
  return {
    text,
    calls,
    ...(reasoning.size > 0 && { reasoning: [...reasoning.values()] }),
    finish: reason === "length" ? "length" : reason === "content-filter" ? "refused" : "stop",
    usage: usageOf(finish, requestCharacters, size),
  };
}

const cutOff = () =>
  new NodeError("The model's answer is incomplete: its stream ended early or with an error.", {
    code: "model_stream_cut",
  });

/** How the library for OpenAI reports a stream without a finish reason. */
const isEarlyEnd = (error: unknown): boolean =>
  InvalidResponseDataError.isInstance(error) && error.data === undefined;

type ReasoningPart = Extract<
  LanguageModelV4StreamPart,
  { type: "reasoning-start" | "reasoning-delta" | "reasoning-end" }
>;
const isReasoning = (part: LanguageModelV4StreamPart): part is ReasoningPart =>
  part.type.startsWith("reasoning-") && part.type !== "reasoning-file";

/** The libraries report a stream without a stop reason as `other`. */
const isUnknown = ({ finishReason }: Finish): boolean =>
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
    // Reported below.
  }
  const problem = `The arguments must be a JSON object, but were: ${input.slice(0, MAX_QUOTED)}`;
  return { ...call, arguments: {}, problem };
}

const withMetadata = (
  known: JsonObject | undefined,
  more: SharedV4ProviderMetadata | undefined,
): JsonObject | undefined => {
  if (!more) return known;
  const merged: JsonObject = { ...known };
  for (const [provider, values] of Object.entries(more)) {
    const before = merged[provider];
    merged[provider] = { ...(isObject(before) ? before : {}), ...(values as JsonObject) };
  }
  return merged;
};

/** About four characters are one token, in English. */
const estimate = (characters: number): number => Math.ceil(characters / 4);

function usageOf({ usage }: Finish, asked: number, answered: number): ModelUsage {
  return {
    input_tokens: usage.inputTokens.total ?? estimate(asked),
    output_tokens: usage.outputTokens.total ?? estimate(answered),
  };
}
