/** The recorded parts of an agent's step as a conversation; see rules/flows/agent/run-agent.ts. */
import { partOf } from "@signalbox/rules/flows/step-part.ts";
import { isObject, type Json } from "@signalbox/rules/json.ts";
import type { Step } from "../canvas/run-states.ts";

export interface Entry {
  kind: "prompt" | "turn" | "tool" | "end";
  /** The number of the turn; 0 for the prompt. */
  turn: number;
  step: Step;
  /** Earlier attempts of this part that failed. */
  failed: readonly Step[];
}

const KINDS = ["prompt", "turn", "tool", "end"] as const;

/** Returns the newest record of each part, in the order of the conversation. */
export function conversationOf(parts: readonly Step[]): Entry[] {
  const byPart = Map.groupBy(parts, ({ item }) => partOf(item) ?? "");
  const entries: (Entry & { call: number })[] = [];
  for (const [part, steps] of byPart) {
    // Such as `turn-1`, or `tool-1-2` for the second tool call of the first turn.
    const [name, turn = "0", call = "0"] = part.split("-");
    const kind = KINDS.find((each) => each === name);
    const step = steps.at(-1);
    if (!kind || !step) continue;
    const failed = steps.slice(0, -1).filter(({ error }) => error !== null);
    entries.push({ kind, turn: Number(turn), call: Number(call), step, failed });
  }
  return entries
    .sort(
      (a, b) => a.turn - b.turn || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || a.call - b.call,
    )
    .map(({ call: _, ...entry }) => entry);
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);
const fieldsOf = (value: unknown): Record<string, Json | undefined> =>
  isObject(value) ? value : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export interface Prompt {
  system: string;
  user: string;
  tools: string[];
}

export function readPrompt(output: Json): Prompt {
  const { system, user, tools } = fieldsOf(output);
  return {
    system: textOf(system),
    user: textOf(user),
    tools: listOf(tools).map((tool) => textOf(fieldsOf(tool).name)),
  };
}

export interface Answer {
  text: string;
  reasoning: string;
  calls: string[];
  finish: string;
  inputTokens: number;
  outputTokens: number;
}

export function readAnswer(output: Json): Answer {
  const { text, reasoning, calls, finish, usage } = fieldsOf(output);
  const { input_tokens, output_tokens } = fieldsOf(usage);
  return {
    text: textOf(text),
    reasoning: listOf(reasoning)
      .map((part) => textOf(fieldsOf(part).text))
      .filter(Boolean)
      .join("\n\n"),
    calls: listOf(calls).map((call) => textOf(fieldsOf(call).tool)),
    finish: textOf(finish),
    inputTokens: numberOf(input_tokens),
    outputTokens: numberOf(output_tokens),
  };
}

export const readCall = (input: Json): { tool: string; arguments: Json } => {
  const fields = fieldsOf(input);
  return { tool: textOf(fields.tool), arguments: fields.arguments ?? null };
};

/** A result that is a JSON object or array is parsed, so that it can be shown as a tree. */
export function readResult(output: Json): { value: Json; cut: number; isError: boolean } {
  const { result, is_error } = fieldsOf(output);
  const { text, cut } = fieldsOf(result);
  return { value: parseIfJson(textOf(text)), cut: numberOf(cut), isError: is_error === true };
}

function parseIfJson(text: string): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
