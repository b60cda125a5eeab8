/**
 * The turns of an agent as a state machine without I/O. `next` returns a step; the caller performs it
 * and adds the outcome. The same outcomes lead to the same steps, so adding the recorded outcomes again
 * restores a conversation.
 */
import { isObject, type Json } from "../../json.ts";
import { Permanent } from "../errors.ts";
import type { ModelAnswer, ModelCall, ModelMessage, ModelToolResult, ModelUsage } from "./model.ts";
import { CALL_CUT_OFF, CONTINUE_MESSAGE, SUBMIT_TOOL, submitMessage } from "./prompt.ts";

export interface AgentLimits {
  turns: number;
  tokens: number;
  seconds: number;
}

export type AgentStep =
  | {
      do: "ask";
      turn: number;
      messages: readonly ModelMessage[];
      tokensLeft: number;
      msLeft: number;
    }
  /** The caller calls the tools, in any order. */
  | { do: "call"; turn: number; calls: readonly ModelCall[]; msLeft: number }
  /** The caller validates the result. */
  | { do: "check"; value: Json }
  | { do: "finish"; text: string; result: Json };

export interface Conversation {
  /** Throws `Permanent` if a limit is reached, or the agent has failed. */
  next(elapsedMs: number): AgentStep;
  /** Continues after `next` has thrown: the next step asks the model again, and the limits are reset. */
  resume(elapsedMs: number): void;
  /** Adds the outcome of the step `ask`. */
  addAnswer(answer: ModelAnswer): void;
  /** Adds the outcome of the step `call`. */
  addResults(results: readonly ModelToolResult[]): void;
  /** Adds the outcome of the step `check`: why the result is invalid, or undefined. */
  addCheck(problem: string | undefined): void;
  usage(): ModelUsage;
  turns(): number;
}

export interface ConversationOptions {
  system: string;
  user: string;
  limits: AgentLimits;
  /** Whether the agent must submit a structured result. */
  hasResult: boolean;
}

/** How many times a model may correct an invalid result. */
const MAX_REPAIRS = 1;

export function createConversation(options: ConversationOptions): Conversation {
  const { limits, hasResult } = options;
  const messages: ModelMessage[] = [
    { role: "system", text: options.system },
    { role: "user", text: options.user },
  ];
  const usage: ModelUsage = { input_tokens: 0, output_tokens: 0 };
  let turns = 0;
  let repairs = 0;
  let text = "";
  /** Whether the last answer was cut off, so that the next answer continues its text. */
  let isCutOff = false;
  let results: ModelToolResult[] = [];
  let submitted: { value: Json; call: ModelCall | undefined } | undefined;
  let step: "ask" | "call" | "check" | "finish" = "ask";
  let calls: readonly ModelCall[] = [];
  let failure: Permanent | undefined;
  /** Set if the conversation failed because of an invalid result: `resume` then asks for a valid one. */
  let repairAgain: (() => void) | undefined;
  /** The usage before the last `resume`, which does not count towards the limits. */
  let earlier = { turns: 0, tokens: 0, ms: 0 };

  const usedTokens = () => usage.input_tokens + usage.output_tokens;
  const fail = (code: string, message: string) => {
    failure = new Permanent(message, { code });
  };
  const resultOf = (call: ModelCall, message: string, isError: boolean): ModelToolResult => ({
    id: call.id,
    tool: call.tool,
    text: message,
    isError,
  });
  /** Sends the results of the turn's calls, and asks again. */
  const askAgain = () => {
    if (results.length > 0) messages.push({ role: "tool", results });
    results = [];
    step = "ask";
  };
  /** Reports the problem in the result of the call or, without a call, in a user message. */
  const repair = (problem: string, call: ModelCall | undefined) => {
    repairs += 1;
    if (repairs > MAX_REPAIRS) {
      repairAgain = () => repair(problem, call);
      return fail("agent_invalid_result", `The agent's result is invalid. ${problem}`);
    }
    if (call) results.push(resultOf(call, submitMessage(problem), true));
    else messages.push({ role: "user", text: submitMessage(problem) });
    askAgain();
  };
  const afterCalls = () => {
    if (submitted) step = "check";
    else askAgain();
  };

  const handleAnswerWithoutCalls = (answer: ModelAnswer) => {
    if (answer.finish === "length") {
      messages.push({ role: "user", text: CONTINUE_MESSAGE });
      isCutOff = true;
      step = "ask";
      return;
    }
    if (!hasResult) {
      step = "finish";
      return;
    }
    const value = parseJson(text);
    if (value === undefined) return repair("You ended without a result.", undefined);
    submitted = { value, call: undefined };
    step = "check";
  };

  /** Returns the number of tokens that the agent may still use. */
  const checkLimits = (elapsedMs: number) => {
    const used = usedTokens() - earlier.tokens;
    if (turns - earlier.turns >= limits.turns)
      fail(
        "agent_turn_limit",
        `The agent has no final answer after ${limits.turns} turns. Raise limits.turns, or give it a smaller task.`,
      );
    else if (used >= limits.tokens)
      fail(
        "agent_token_limit",
        `The agent has used ${used} tokens, and the limit is ${limits.tokens}. Raise limits.tokens, or give it less data.`,
      );
    else if (elapsedMs - earlier.ms >= limits.seconds * 1000)
      fail(
        "agent_time_limit",
        `The agent has no final answer after ${limits.seconds} s. Raise limits.seconds, or use a faster model.`,
      );
    return limits.tokens - used;
  };

  return {
    next(elapsedMs) {
      const tokensLeft = step === "ask" && !failure ? checkLimits(elapsedMs) : 0;
      if (failure) throw failure;
      const msLeft = Math.max(1, limits.seconds * 1000 + earlier.ms - elapsedMs);
      if (step === "call") return { do: "call", turn: turns, calls, msLeft };
      if (step === "check") return { do: "check", value: submitted?.value ?? null };
      if (step === "finish") return { do: "finish", text, result: submitted?.value ?? null };
      return {
        do: "ask",
        turn: turns + 1,
        messages: [...messages],
        tokensLeft,
        msLeft,
      };
    },
    resume(elapsedMs) {
      failure = undefined;
      repairs = 0;
      earlier = { turns, tokens: usedTokens(), ms: elapsedMs };
      repairAgain?.();
      [repairs, repairAgain] = [0, undefined];
    },
    addAnswer(answer) {
      turns += 1;
      usage.input_tokens += answer.usage.input_tokens;
      usage.output_tokens += answer.usage.output_tokens;
      text = isCutOff ? text + answer.text : answer.text;
      isCutOff = false;
      if (answer.finish === "refused")
        return fail("agent_refused", "The model's provider refused to answer this conversation.");
      const { calls: answerCalls, reasoning } = answer;
      messages.push({
        role: "assistant",
        text: answer.text,
        calls: answerCalls,
        ...(reasoning && { reasoning }),
      });
      if (answerCalls.length === 0) return handleAnswerWithoutCalls(answer);
      if (answer.finish === "length") {
        results = answerCalls.map((call) => resultOf(call, CALL_CUT_OFF, true));
        return askAgain();
      }
      const submitCalls = hasResult ? answerCalls.filter(({ tool }) => tool === SUBMIT_TOOL) : [];
      const [first, ...others] = submitCalls;
      submitted = first && { value: first.problem ? null : first.arguments, call: first };
      results = others.map((call) => resultOf(call, "A result is already submitted.", true));
      calls = answerCalls.filter((call) => !submitCalls.includes(call));
      if (calls.length > 0) step = "call";
      else afterCalls();
    },
    addResults(callResults) {
      results.push(...callResults);
      afterCalls();
    },
    addCheck(problem) {
      if (problem === undefined) {
        step = "finish";
        return;
      }
      const call = submitted?.call;
      submitted = undefined;
      repair(problem, call);
    },
    usage: () => ({ ...usage }),
    turns: () => turns,
  };
}

/** Accepts JSON in a code block too: a model that does not use the tool often writes it there. */
function parseJson(text: string): Json | undefined {
  const body = /^\s*```(?:json)?\s*\n(.*)\n```\s*$/s.exec(text)?.[1] ?? text;
  try {
    const value = JSON.parse(body) as Json;
    return isObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
