/** Runs a node once: renders its templates, enforces its timeout, and returns errors as results. */
import { Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import type { Evaluate, Evaluation, LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeContext, NodeDefinition, NodeResult } from "@signalbox/rules/flows/node-type.ts";
import type { Scope } from "@signalbox/rules/flows/render.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import { createMask, type Mask } from "../lib/mask.ts";
import type { Timers } from "../lib/timers.ts";
import type { RunError } from "../store/run-store.ts";
import { maskConfig } from "./mask-value.ts";
import { nodeParts } from "./node-parts.ts";
import type { ToolCaller } from "./node-services.ts";
import { parseLarge } from "./parse-large.ts";
import type { Parts } from "./record-part.ts";
import { renderNode } from "./render-node.ts";
import type { RunBudget } from "./run-budget.ts";
import { toRunError } from "./run-error.ts";
import { RunFailed } from "./step-records.ts";
import { createTimeLimit } from "./time-limit.ts";
import { createToolProgress, type ToolProgress } from "./tool-progress.ts";

/** What an attempt adds to the context. */
type Provided =
  | "config"
  | "signal"
  | "scope"
  | "log"
  | "evaluate"
  | "record"
  | "callTool"
  | "listTools";

type Call<Name extends "callTool" | "listTools", Caller> = (
  call: Parameters<NodeContext<JsonObject>[Name]>[0],
  caller: Caller,
) => ReturnType<NodeContext<JsonObject>[Name]>;

export interface AttemptOptions {
  tenant: string;
  node: FlowNode;
  definition: NodeDefinition;
  scope: Scope;
  context: Omit<NodeContext<JsonObject>, Provided>;
  evaluate: Evaluate;
  budget: RunBudget;
  record: Parts["record"];
  callTool: Call<"callTool", Omit<ToolCaller, "key">>;
  listTools: Call<"listTools", Pick<ToolCaller, "signal">>;
  /** Called with the progress of called tools; secrets are masked. */
  onProgress: (progress: ToolProgress) => void;
  /** Aborted when the run ends. */
  signal: AbortSignal;
  secrets: (names: readonly string[]) => Promise<Record<string, string>>;
  /** All secrets that the flow references: a server may return a secret that another step sent. */
  flowSecrets: (() => Promise<readonly string[]>) | undefined;
  timers: Pick<Timers, "after">;
  defaultTimeoutMs: number;
}

interface AttemptRecord {
  /** The rendered config, with secrets masked. */
  input: MixedJson;
  mask: Mask;
  /** Secrets are masked. */
  log: LogLine[];
}
export interface AttemptFailed extends AttemptRecord {
  error: RunError;
  retryAt: number | "backoff" | "never";
}
export type AttemptResult<Result = NodeResult> =
  | (AttemptRecord & { result: Result })
  | AttemptFailed;

export async function attempt(options: AttemptOptions): Promise<AttemptResult> {
  const { tenant, node, definition, scope, context, secrets, flowSecrets } = options;
  const { config: template, settings, secrets: names } = nodeParts(node);
  const timeoutMs =
    settings.timeoutMs ?? (definition.hasOwnDeadline ? undefined : options.defaultTimeoutMs);
  const limit = createTimeLimit(options.timers, timeoutMs, options.signal);
  const { signal, stopClock } = limit;
  const record: AttemptRecord = { input: null, mask: createMask([]), log: [] };

  const run = async (): Promise<NodeResult> => {
    const opened = names.length === 0 ? {} : await secrets(names);
    if (flowSecrets) record.mask = createMask([...Object.values(opened), ...(await flowSecrets())]);
    const { mask, log } = record;
    const evaluate = (evaluation: Evaluation) =>
      options.evaluate(evaluation, { tenant, signal, onQueued: stopClock });
    const config = await renderNode(template, definition, scope, opened, evaluate);
    const masked = maskConfig(mask, config, options.budget);
    if ("error" in masked) throw new RunFailed(masked.error);
    record.input = masked.value;
    const addLine = ({ level, text }: LogLine) => log.push({ level, text: mask.text(text) });
    const onProgress = createToolProgress(mask.text, addLine, options.onProgress);
    return definition.run({
      ...context,
      scope,
      config: definition.acceptsLarge ? (config as JsonObject) : (parseLarge(config) as JsonObject),
      signal,
      log: addLine,
      callTool: (call) => options.callTool(call, { signal, onProgress }),
      listTools: (connection) => options.listTools(connection, { signal }),
      record: (part, input, work) => options.record({ part, input, work, mask, signal }),
      evaluate,
    });
  };
  try {
    const result = await Promise.race([limit.reached, run()]);
    return { ...record, result };
  } catch (error) {
    const runError = record.mask.error(toRunError(error, node.id));
    return { ...record, error: runError, retryAt: retryTime(error) };
  } finally {
    limit.close();
  }
}

function retryTime(error: unknown): AttemptFailed["retryAt"] {
  if (error instanceof RetryAt) return error.at;
  return error instanceof Permanent || error instanceof RunFailed ? "never" : "backoff";
}

export const unknownType = ({ id, type }: FlowNode): AttemptFailed => ({
  input: null,
  mask: createMask([]),
  log: [],
  error: { code: "unknown_node_type", message: `There is no node type ${type}.`, node_id: id },
  retryAt: "never",
});
