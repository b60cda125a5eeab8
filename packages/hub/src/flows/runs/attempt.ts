/** Runs a node once: renders its templates, enforces its timeout, and returns errors as results. */
import { Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import type { Evaluation, LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type {
  NodeContext,
  NodeDefinition,
  NodeResult,
  Scope,
} from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { JobCaller, RunJob } from "../../kernel/jobs/job.ts";
import { createMask, type Mask } from "../../kernel/lib/mask.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { ToolCaller } from "./execution.ts";
import { maskConfig } from "./mask-value.ts";
import type { RunError } from "./model.ts";
import { parseLarge } from "./parse-large.ts";
import type { Parts } from "./record-part.ts";
import { renderNode } from "./render-node.ts";
import type { RunBudget } from "./run-budget.ts";
import { toRunError } from "./run-error.ts";
import { splitParameters } from "./split-parameters.ts";
import { RunFailed } from "./step-records.ts";
import { createTimeLimit, type TimeLimit } from "./time-limit.ts";
import { createToolProgress, type ToolProgress } from "./tool-progress.ts";

/** The fields of `NodeContext` that `attempt` itself provides. */
type ProvidedField =
  | "config"
  | "signal"
  | "scope"
  | "log"
  | "evaluate"
  | "record"
  | "callTool"
  | "listTools";

/** The time limit of an attempt. A service stops its clock while the attempt is queued. */
export type AttemptLimit = Pick<TimeLimit, "signal" | "stopClock">;

/** A function of `NodeContext` that also gets the attempt that calls it. */
type Call<Name extends "callTool" | "listTools", Caller> = (
  call: Parameters<NodeContext<JsonObject>[Name]>[0],
  caller: Caller,
) => ReturnType<NodeContext<JsonObject>[Name]>;

export interface AttemptOptions {
  tenant: string;
  lane: JobCaller["lane"];
  node: FlowNode;
  definition: NodeDefinition;
  scope: Scope;
  context: (limit: AttemptLimit) => Omit<NodeContext<JsonObject>, ProvidedField>;
  runJob: RunJob;
  budget: RunBudget;
  record: Parts["record"];
  callTool: Call<"callTool", AttemptLimit & Pick<ToolCaller, "onProgress">>;
  listTools: Call<"listTools", AttemptLimit>;
  /** Called with the progress of called tools; secrets are masked. */
  onProgress: (progress: ToolProgress) => void;
  /** Aborted when the run ends. */
  signal: AbortSignal;
  loadSecrets: (names: readonly string[]) => Promise<Record<string, string>>;
  /** Loads all secrets of the flow: a server may return a secret that another step has sent. */
  loadFlowSecrets: (() => Promise<readonly string[]>) | undefined;
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
export interface FailedAttempt extends AttemptRecord {
  error: RunError;
  retryAt: number | "backoff" | "never";
}
export type AttemptResult<Result = NodeResult> =
  | (AttemptRecord & { result: Result })
  | FailedAttempt;

export async function attempt(options: AttemptOptions): Promise<AttemptResult> {
  const { tenant, lane, node, definition, scope, context, loadSecrets, loadFlowSecrets } = options;
  const { config: template, settings, secretNames } = splitParameters(node);
  const timeoutMs =
    settings.timeoutMs ?? (definition.hasOwnDeadline ? undefined : options.defaultTimeoutMs);
  const limit = createTimeLimit(options.timers, timeoutMs, options.signal);
  const { signal, stopClock } = limit;
  const attempted: AttemptRecord = { input: null, mask: createMask([]), log: [] };

  const run = async (): Promise<NodeResult> => {
    const secrets = secretNames.length === 0 ? {} : await loadSecrets(secretNames);
    if (loadFlowSecrets)
      attempted.mask = createMask([...Object.values(secrets), ...(await loadFlowSecrets())]);
    const { mask, log } = attempted;
    const evaluate = (evaluation: Evaluation) =>
      options.runJob(evaluation, { tenant, lane, signal, onQueued: stopClock });
    const config = await renderNode(template, definition, scope, secrets, evaluate);
    const masked = maskConfig(mask, config, options.budget);
    if ("error" in masked) throw new RunFailed(masked.error);
    attempted.input = masked.value;
    const addLine = ({ level, text }: LogLine) => log.push({ level, text: mask.text(text) });
    const onProgress = createToolProgress(mask.text, addLine, options.onProgress);
    return definition.run({
      ...context(limit),
      scope,
      config: definition.acceptsLarge ? (config as JsonObject) : (parseLarge(config) as JsonObject),
      signal,
      log: addLine,
      callTool: (call) => options.callTool(call, { signal, stopClock, onProgress }),
      listTools: (connection) => options.listTools(connection, { signal, stopClock }),
      record: (part, input, work) => options.record({ part, input, work, mask, signal }),
      evaluate,
    });
  };
  try {
    const result = await Promise.race([limit.reached, run()]);
    return { ...attempted, result };
  } catch (error) {
    const runError = attempted.mask.error(toRunError(error, node.id));
    return { ...attempted, error: runError, retryAt: retryTime(error) };
  } finally {
    limit.close();
  }
}

function retryTime(error: unknown): FailedAttempt["retryAt"] {
  if (error instanceof RetryAt) return error.at;
  return error instanceof Permanent || error instanceof RunFailed ? "never" : "backoff";
}

export const unknownTypeFailure = ({ id, type }: FlowNode): FailedAttempt => ({
  input: null,
  mask: createMask([]),
  log: [],
  error: { code: "unknown_node_type", message: `There is no node type ${type}.`, node_id: id },
  retryAt: "never",
});
