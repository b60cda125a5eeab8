/**
 * The turns of an agent as a state machine without I/O. `next` returns what to do; the caller does it
 * and reports the outcome. The same outcomes lead to the same steps, so a conversation is restored by
 * reporting the recorded ones.
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
  /** Calls the tools, in any order. */
  | { do: "call"; turn: number; calls: readonly ModelCall[]; msLeft: number }
  /** Validates the result. */
  | { do: "check"; value: Json }
  | { do: "finish"; text: string; result: Json };

export interface Conversation {
  /** Throws `Permanent` if a limit is reached, or the agent has failed. */
  next(elapsedMs: number): AgentStep;
  /** Continues after such a failure: asks the model again. The limits start anew. */
  resume(elapsedMs: number): void;
  answered(answer: ModelAnswer): void;
  /** The results of the step `call`. */
  called(results: readonly ModelToolResult[]): void;
  /** `problem` describes why the result of the step `check` is invalid. */
  checked(problem: string | undefined): void;
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

/** How often a model may correct an invalid result. */
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
  /** Whether the last answer was cut off, so that the next one continues its text. */
  let isCutOff = false;
  let results: ModelToolResult[] = [];
  let submitted: { value: Json; call: ModelCall | undefined } | undefined;
  let step: "ask" | "call" | "check" | "finish" = "ask";
  let calls: readonly ModelCall[] = [];
  let failure: Permanent | undefined;
  /** Set if the conversation failed because of an invalid result: `resume` then asks for another. */
  let repairAgain: (() => void) | undefined;
  /** The usage before the last `resume`, which does not count towards the limits. */
  let before = { turns: 0, tokens: 0, ms: 0 };

  const usedTokens = () => usage.input_tokens + usage.output_tokens;
  const failed = (code: string, message: string) => {
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
  /** Without a call, the problem is reported in a user message. */
  const repair = (problem: string, call: ModelCall | undefined) => {
    repairs += 1;
    if (repairs > MAX_REPAIRS) {
      repairAgain = () => repair(problem, call);
      return failed("agent_invalid_result", `The agent's result is invalid. ${problem}`);
    }
    if (call) results.push(resultOf(call, submitMessage(problem), true));
    else messages.push({ role: "user", text: submitMessage(problem) });
    askAgain();
  };
  const afterCalls = () => {
    if (submitted) step = "check";
    else askAgain();
  };

  /** An answer without calls. */
  const ended = (answer: ModelAnswer) => {
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

  const checkLimits = (elapsedMs: number) => {
    const used = usedTokens() - before.tokens;
    if (turns - before.turns >= limits.turns)
      failed(
        "agent_turn_limit",
        `The agent has no final answer after ${limits.turns} turns. Raise limits.turns, or give it a smaller task.`,
      );
    else if (used >= limits.tokens)
      failed(
        "agent_token_limit",
        `The agent has used ${used} tokens, and the limit is ${limits.tokens}. Raise limits.tokens, or give it less data.`,
      );
    else if (elapsedMs - before.ms >= limits.seconds * 1000)
      failed(
        "agent_time_limit",
        `The agent has no final answer after ${limits.seconds} s. Raise limits.seconds, or use a faster model.`,
      );
    return limits.tokens - used;
  };

  return {
    next(elapsedMs) {
      const tokensLeft = step === "ask" && !failure ? checkLimits(elapsedMs) : 0;
      if (failure) throw failure;
      const msLeft = Math.max(1, limits.seconds * 1000 + before.ms - elapsedMs);
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
      before = { turns, tokens: usedTokens(), ms: elapsedMs };
      repairAgain?.();
      [repairs, repairAgain] = [0, undefined];
    },
    answered(answer) {
      turns += 1;
      usage.input_tokens += answer.usage.input_tokens;
      usage.output_tokens += answer.usage.output_tokens;
      text = isCutOff ? text + answer.text : answer.text;
      isCutOff = false;
      if (answer.finish === "refused")
        return failed("agent_refused", "The model's provider refused to answer this conversation.");
      const { calls: made, reasoning } = answer;
      messages.push({
        role: "assistant",
        text: answer.text,
        calls: made,
        ...(reasoning && { reasoning }),
      });
      if (made.length === 0) return ended(answer);
      if (answer.finish === "length") {
        results = made.map((call) => resultOf(call, CALL_CUT_OFF, true));
        return askAgain();
      }
      const submits = hasResult ? made.filter(({ tool }) => tool === SUBMIT_TOOL) : [];
      const [first, ...more] = submits;
      submitted = first && { value: first.problem ? null : first.arguments, call: first };
      results = more.map((call) => resultOf(call, "A result is already submitted.", true));
      calls = made.filter((call) => !submits.includes(call));
      if (calls.length > 0) step = "call";
      else afterCalls();
    },
    called(done) {
      results.push(...done);
      afterCalls();
    },
    checked(problem) {
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

/** Models without tools often put JSON into a code block. */
function parseJson(text: string): Json | undefined {
  const body = /^\s*```(?:json)?\s*\n(.*)\n```\s*$/s.exec(text)?.[1] ?? text;
  try {
    const value = JSON.parse(body) as Json;
    return isObject(value) || Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
