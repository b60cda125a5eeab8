/**
 * Runs the conversation of an `Agent` node. Every answer of the model and every call of a tool is a
 * recorded part of the step, so that after a crash only the parts under way are repeated.
 */
import type { Json, JsonObject, JsonSchema } from "../../json.ts";
import type { MixedJson } from "../../large-json.ts";
import { NodeError, Permanent } from "../errors.ts";
import { writePath } from "../issues.ts";
import type { NodeContext, ToolResult } from "../node-type.ts";
import { createSchemaValidator } from "../validate-schema.ts";
import { type AgentLimits, type AgentStep, createConversation } from "./conversation.ts";
import { fence, toUntrustedText, type UntrustedText } from "./fence.ts";
import {
  MODEL_TIMEOUT,
  type ModelAnswer,
  type ModelCall,
  type ModelChoice,
  type ModelTool,
  type ModelToolResult,
} from "./model.ts";
import { SUBMIT_TOOL, systemMessage, userMessage } from "./prompt.ts";
import { type AgentTool, agentTools } from "./tool-names.ts";

export interface AgentConfig {
  model: ModelChoice;
  instructions: string;
  prompt?: string | undefined;
  data?: MixedJson | undefined;
  tools: readonly { connection: string; tools?: readonly string[] | undefined }[];
  inboxTools: boolean;
  limits: AgentLimits;
  outputSchema?: JsonSchema | undefined;
}

const MAX_DATA_CHARACTERS = 60_000;
const MAX_RESULT_CHARACTERS = 30_000;

/** The parts of the step, as they are recorded. */
interface PromptPart {
  system: string;
  user: string;
  tools: AgentTool[];
}
interface ToolPart {
  result: UntrustedText;
  is_error: boolean;
}

export async function runAgent(context: NodeContext<AgentConfig>): Promise<JsonObject> {
  const { config, now } = context;
  const { limits, outputSchema } = config;
  const startedAt = now();
  /** The time of the parts that an earlier attempt or process has recorded. */
  let recordedMs = 0;
  const elapsed = () => recordedMs + now() - startedAt;

  /** Performs a part, or returns its record. `ms` is the time that it took. */
  const perform = async <Part extends object>(
    name: string,
    input: JsonObject,
    work: () => Promise<Part>,
  ): Promise<Part & { ms: number }> => {
    let isRecorded = true;
    const part = await context.record(name, input, async () => {
      isRecorded = false;
      const from = now();
      const done = await work();
      return { ...done, ms: now() - from } as unknown as Json;
    });
    const done = part as unknown as Part & { ms: number };
    if (isRecorded) recordedMs += done.ms;
    return done;
  };

  const prompt = await perform<PromptPart>("prompt", {}, () => createPrompt(context));
  const conversation = createConversation({ ...prompt, limits, hasResult: !!outputSchema });
  const tools = [
    ...prompt.tools.map(modelTool),
    ...(outputSchema ? [submitTool(outputSchema)] : []),
  ];

  const ask = async ({ turn, messages, tokensLeft, msLeft }: AgentStep & { do: "ask" }) => {
    try {
      return await perform<ModelAnswer>(`turn-${turn}`, { model: config.model.name }, () =>
        context.model(
          { model: config.model, messages, tools, tokensLeft, timeoutMs: msLeft },
          context.signal,
        ),
      );
    } catch (error) {
      // If the time is over, this is the reason for the error.
      const isOver = error instanceof NodeError && error.code === MODEL_TIMEOUT;
      conversation.next(isOver ? Number.POSITIVE_INFINITY : elapsed());
      throw error;
    }
  };
  const call = async (
    { turn, msLeft }: AgentStep & { do: "call" },
    made: ModelCall,
    at: number,
  ): Promise<ModelToolResult> => {
    const tool = prompt.tools.find(({ name }) => name === made.tool);
    const part = `tool-${turn}-${at + 1}`;
    const { result, is_error } = await perform<ToolPart>(
      part,
      { tool: made.tool, arguments: made.arguments },
      () => callTool(context, tool, made, { id: part, timeoutMs: msLeft }),
    );
    // Not every provider has a mark for errors.
    const text = is_error ? `The call failed:\n${fence(result)}` : fence(result);
    return { id: made.id, tool: made.tool, text, isError: is_error };
  };

  /**
   * If an earlier attempt has ended here, the run was retried: the recorded answers would only lead to
   * the same end, so the model is asked again.
   */
  const nextStep = async (): Promise<AgentStep> => {
    try {
      return conversation.next(elapsed());
    } catch (error) {
      if (!(error instanceof Permanent)) throw error;
      const { code } = error;
      let isRetry = true;
      await perform(`end-${conversation.turns()}`, {}, async () => {
        isRetry = false;
        return { code };
      });
      if (!isRetry) throw error;
      conversation.resume(elapsed());
      return conversation.next(elapsed());
    }
  };

  for (;;) {
    const step = await nextStep();
    if (step.do === "ask") conversation.answered(await ask(step));
    else if (step.do === "call")
      conversation.called(await Promise.all(step.calls.map((made, at) => call(step, made, at))));
    else if (step.do === "check")
      conversation.checked(await findProblem(context, outputSchema ?? {}, step.value));
    else {
      const { text, result } = step;
      return { text, result, turns: conversation.turns(), usage: { ...conversation.usage() } };
    }
  }
}

async function createPrompt(context: NodeContext<AgentConfig>): Promise<PromptPart> {
  const { instructions, prompt, data = context.input, outputSchema, ...config } = context.config;
  const connections = await Promise.all(
    config.tools.map(async ({ connection, tools: names }) => ({
      connection,
      tools: await context.listTools(connection),
      names,
    })),
  );
  const inbox = config.inboxTools ? [{ tools: await context.inbox.listTools() }] : [];
  return {
    system: systemMessage(instructions, outputSchema !== undefined),
    user: userMessage(prompt, toUntrustedText(data, MAX_DATA_CHARACTERS, context.newNonce)),
    tools: agentTools([...connections, ...inbox]),
  };
}

/** An error of the tool is a result too: the model decides what to do about it. */
async function callTool(
  context: NodeContext<AgentConfig>,
  tool: AgentTool | undefined,
  call: ModelCall,
  options: { id: string; timeoutMs: number },
): Promise<ToolPart> {
  const answer = (data: Json, is_error: boolean) => ({
    result: toUntrustedText(data, MAX_RESULT_CHARACTERS, context.newNonce),
    is_error,
  });
  if (!tool) return answer(`There is no tool ${call.tool}.`, true);
  if (call.problem !== undefined) return answer(call.problem, true);
  const { connection, tool: name } = tool;
  try {
    const result =
      connection === undefined
        ? await context.inbox.callTool({ tool: name, arguments: call.arguments })
        : await context.callTool({ connection, tool: name, arguments: call.arguments, ...options });
    return answer(contentOf(result), result.isError);
  } catch (error) {
    if (context.signal.aborted) throw error;
    return answer(error instanceof Error ? error.message : String(error), true);
  }
}

const contentOf = ({ structured, text, content }: ToolResult): Json =>
  structured ?? (text === "" ? content : text);

async function findProblem(
  context: NodeContext<AgentConfig>,
  schema: JsonSchema,
  value: Json,
): Promise<string | undefined> {
  const validate = createSchemaValidator(context.evaluate);
  const [error] = await validate([{ schema, value }]);
  return error && `${writePath(error.keys) || "The result"}: ${error.message}.`;
}

const modelTool = ({ name, description, inputSchema }: AgentTool): ModelTool => ({
  name,
  description,
  inputSchema,
});

const submitTool = (inputSchema: JsonSchema): ModelTool => ({
  name: SUBMIT_TOOL,
  description: "Returns your result. Call it once, when you are done.",
  inputSchema,
});
