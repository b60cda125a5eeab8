/** Runs a node once: renders its templates, enforces its timeout, and returns errors as results. */
import { Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import type { Evaluation, EvaluationResult, LogLine } from "@signalbox/rules/flows/evaluation.ts";
import { writePath } from "@signalbox/rules/flows/issues.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type {
  NodeContext,
  NodeDefinition,
  NodeResult,
  Scope,
} from "@signalbox/rules/flows/node-type.ts";
import { type LargeReference, renderConfig, type Selected } from "@signalbox/rules/flows/render.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import {
  type LargeJson,
  MAX_VALUE_BYTES,
  type MixedJson,
  type MixedObject,
  parseIfLarge,
} from "@signalbox/rules/large-json.ts";
import type { JobCaller, RunJob } from "../../kernel/jobs/job.ts";
import { createMask, type Mask } from "../../kernel/lib/mask.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import { parametersOf } from "./execution.ts";
import type { RunError } from "./model.ts";
import { createToolProgress, type ToolCaller, type ToolProgress } from "./node-services.ts";
import type { Parts } from "./record-part.ts";
import { RunFailed, toRunError } from "./step-records.ts";
import { maskConfig, parseLarge, type RunBudget } from "./step-values.ts";

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

export interface AttemptRecord {
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
  const { config: template, settings, secretNames } = parametersOf(node);
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

type EvaluateProgram = (evaluation: Evaluation) => Promise<EvaluationResult>;

/** Includes the time in which the job parses the data. */
const SELECT_TIMEOUT_MS = 10_000;

/**
 * Renders the config of a node. References into large JSON are resolved in a job, because
 * parsing it here would block the event loop.
 */
async function renderNode(
  config: JsonObject,
  definition: Pick<NodeDefinition, "secretFields" | "rawFields">,
  scope: Scope,
  secrets: Readonly<Record<string, string>>,
  evaluate: EvaluateProgram,
): Promise<MixedObject> {
  const missing = new Map<LargeJson, Map<string, LargeReference["path"]>>();
  const selections = new Map<LargeJson, Map<string, Selected>>();
  const findSelected = ({ large, path }: LargeReference): Selected | undefined => {
    const key = writePath(path);
    const selected = selections.get(large)?.get(key);
    if (!selected) missing.set(large, (missing.get(large) ?? new Map()).set(key, path));
    return selected;
  };
  // The first rendering collects the missing references. The second one uses their values.
  const render = () => renderConfig(config, definition, scope, secrets, findSelected);
  const rendered = render();
  if (missing.size === 0) return rendered;
  for (const [large, paths] of missing) selections.set(large, await select(evaluate, large, paths));
  return render();
}

async function select(
  evaluate: EvaluateProgram,
  data: LargeJson,
  paths: ReadonlyMap<string, LargeReference["path"]>,
): Promise<Map<string, Selected>> {
  const result = await evaluate({
    job: "select",
    paths: [...paths.values()],
    maxBytes: MAX_VALUE_BYTES,
    timeoutMs: SELECT_TIMEOUT_MS,
    data,
  });
  if (!("output" in result)) {
    const isTooLarge = result.error === "selection_too_large";
    throw new Permanent(
      `Reading large JSON for a template ${result.message}. Reference a smaller part of it.`,
      {
        code: isTooLarge ? "input_too_large" : result.error,
      },
    );
  }
  const { parts: values = [] } = result;
  const reached = parseIfLarge(result.output) as number[];
  return new Map(
    [...paths.keys()].map((key, index) => [
      key,
      { value: values[index], reached: reached[index] ?? 0 },
    ]),
  );
}

/** Ends an attempt at a node after its timeout, or together with its run. */
interface TimeLimit {
  /** Aborted when the attempt must end. */
  signal: AbortSignal;
  /**
   * Rejects when the attempt must end, even if the node ignores `signal`. It rejects before `signal`
   * is aborted, so that the attempt fails with the reason, not with an error of the aborted work.
   */
  reached: Promise<never>;
  /** Stops the clock while the attempt is queued. The returned function restarts it from zero. */
  stopClock(): () => void;
  close(): void;
}

class TimedOut extends Error {
  readonly code = "timeout";
  constructor(timeoutMs: number) {
    super(
      `The step exceeds the time limit of ${timeoutMs} ms. Raise timeoutMs in the settings of its node.`,
    );
  }
}

function createTimeLimit(
  timers: Pick<Timers, "after">,
  timeoutMs: number | undefined,
  runSignal: AbortSignal,
): TimeLimit {
  const controller = new AbortController();
  const reached = Promise.withResolvers<never>();
  reached.promise.catch(() => {}); // no unhandled rejection after the attempt has ended
  const end = (reason: Error) => {
    reached.reject(reason);
    controller.abort(reason);
  };
  const onAbort = () => end(new Error("The run has ended."));
  runSignal.addEventListener("abort", onAbort, { once: true });
  if (runSignal.aborted) onAbort();

  let closed = false;
  let cancelTimer = () => {};
  const startClock = () => {
    cancelTimer();
    if (timeoutMs === undefined || closed) return;
    cancelTimer = timers.after(timeoutMs, () => end(new TimedOut(timeoutMs)));
  };
  startClock();

  return {
    signal: controller.signal,
    reached: reached.promise,
    stopClock() {
      cancelTimer();
      return startClock;
    },
    close() {
      closed = true;
      cancelTimer();
      runSignal.removeEventListener("abort", onAbort);
    },
  };
}
