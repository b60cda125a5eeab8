/**
 * Runs the conversation of an `Agent` node. Every answer of the model and every call of a tool is a
 * recorded part of the step, so that after a crash only the unfinished parts are repeated.
 */
import type { Json, JsonObject, JsonSchema } from "../../json.ts";
import type { MixedJson } from "../../large-json.ts";
import { NodeError, Permanent } from "../errors.ts";
import { writePath } from "../issues.ts";
import type { NodeContext, ToolResult } from "../node-type.ts";
import { createSchemaValidator } from "../validate-schema.ts";
import { type AgentTool, agentTools } from "./agent-tools.ts";
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

/** The recorded output of the part `prompt`. */
interface PromptPart {
  system: string;
  user: string;
  tools: AgentTool[];
}
/** The recorded output of a part such as `tool-1-1`. */
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

  /** Performs a part, or returns its recorded output. `ms` is the time that the part took. */
  const perform = async <Part extends object>(
    name: string,
    input: JsonObject,
    work: () => Promise<Part>,
  ): Promise<Part & { ms: number }> => {
    let isRecorded = true;
    const part = await context.record(name, input, async () => {
      isRecorded = false;
      const partStartedAt = now();
      const output = await work();
      return { ...output, ms: now() - partStartedAt } as unknown as Json;
    });
    const output = part as unknown as Part & { ms: number };
    if (isRecorded) recordedMs += output.ms;
    return output;
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
      // If the agent's time limit is reached, `next` throws a better error: that of the limit.
      const isTimeout = error instanceof NodeError && error.code === MODEL_TIMEOUT;
      conversation.next(isTimeout ? Number.POSITIVE_INFINITY : elapsed());
      throw error;
    }
  };
  const performCall = async (
    { turn, msLeft }: AgentStep & { do: "call" },
    call: ModelCall,
    index: number,
  ): Promise<ModelToolResult> => {
    const tool = prompt.tools.find(({ name }) => name === call.tool);
    const part = `tool-${turn}-${index + 1}`;
    const { result, is_error } = await perform<ToolPart>(
      part,
      { tool: call.tool, arguments: call.arguments },
      () => callTool(context, tool, call, { id: part, timeoutMs: msLeft }),
    );
    // Some providers have no field that marks a result as an error.
    const text = is_error ? `The call failed:\n${fence(result)}` : fence(result);
    return { id: call.id, tool: call.tool, text, isError: is_error };
  };

  /**
   * Records the failure of the conversation. If this failure is recorded already, the run was retried
   * after it. The recorded answers would lead to the same failure, so the model is asked again.
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
    if (step.do === "ask") conversation.addAnswer(await ask(step));
    else if (step.do === "call")
      conversation.addResults(
        await Promise.all(step.calls.map((call, index) => performCall(step, call, index))),
      );
    else if (step.do === "check")
      conversation.addCheck(await findProblem(context, outputSchema ?? {}, step.value));
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
  const toPart = (data: Json, is_error: boolean): ToolPart => ({
    result: toUntrustedText(data, MAX_RESULT_CHARACTERS, context.newNonce),
    is_error,
  });
  if (!tool) return toPart(`There is no tool ${call.tool}.`, true);
  if (call.problem !== undefined) return toPart(call.problem, true);
  const { connection, tool: name } = tool;
  try {
    const result =
      connection === undefined
        ? await context.inbox.callTool({ tool: name, arguments: call.arguments })
        : await context.callTool({ connection, tool: name, arguments: call.arguments, ...options });
    return toPart(contentOf(result), result.isError);
  } catch (error) {
    if (context.signal.aborted) throw error;
    return toPart(error instanceof Error ? error.message : String(error), true);
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
  if (!error) return undefined;
  const path = error.keys.length > 0 ? writePath(error.keys) : "The result";
  return `${path}: ${error.message}.`;
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
