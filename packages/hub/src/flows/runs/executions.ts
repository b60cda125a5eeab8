/**
 * Executes claimed runs, each until it ends or is suspended. An execution can be cancelled, or stopped for
 * another worker to continue. A step with effects starts only after the steps that it depends on are
 * recorded. A worker that claims the run after a crash repeats only the steps that are not recorded as done.
 */

import { Permanent } from "@signalbox/rules/flows/errors.ts";
import { graphOf } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { ITEM_PORT, type NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { jsonBytes } from "@signalbox/rules/json-bytes.ts";
import {
  type LargeJson,
  MAX_VALUE_BYTES,
  MAX_VALUE_MB,
  type MaybeLarge,
  type MixedObject,
} from "@signalbox/rules/large-json.ts";
import type { Instant, Timers } from "../../kernel/lib/timers.ts";
import { awaitStorage } from "../../kernel/store/availability.ts";
import { type Activity, createActivity, MAX_TIMER_MS, type WorkSlots } from "./activity.ts";
import type { RunMemory } from "./claimer.ts";
import { defaultPort, type Execution, parametersOf } from "./execution.ts";
import { createLayout, openFrame } from "./frame.ts";
import { createEffects, type Effects, type EffectsOptions, type Leases } from "./leases.ts";
import type { ClaimedRun, Run, RunError, RunProgress, StepRef } from "./model.ts";
import type { NodeProgress, NodeServices } from "./node-services.ts";
import type { DeferredStart, SaveProgress } from "./progress-commit.ts";
import { observeSteps, type RunMetrics } from "./run-metrics.ts";
import type { RunWaits } from "./run-waits.ts";
import { createStepLog } from "./step-log.ts";
import {
  doneStep,
  ExecutionAborted,
  LEASE_RELEASED,
  RUN_ENDED,
  RunFailed,
  type StepRecord,
} from "./step-records.ts";
import { createRunBudget } from "./step-values.ts";
import { walkFrame } from "./walk-frame.ts";

/** What all executions share. */
interface ExecutionSettings {
  registry: NodeRegistry;
  services: NodeServices;
  save: SaveProgress;
  loadSecrets: (tenant: string, names: readonly string[]) => Promise<Record<string, string>>;
  /** Loads the value of `{{ trigger }}`. */
  loadInput: (run: Run) => Promise<MixedObject | LargeJson>;
  loadOutput: (run: string, step: StepRef) => Promise<MaybeLarge>;
  timers: Timers;
  slots: WorkSlots;
  /** Called with errors of the store that do not end the execution. */
  onError(error: unknown): void;
  stepTimeoutMs: number;
  /** The maximum time since the run started, or since it was last resumed after a suspension. */
  runTimeoutMs: number;
  /** The maximum total size of the values that a run stores with its steps. */
  maxRunBytes: number;
  /** A run that must wait for longer than this is suspended. */
  suspendAfterMs: number;
}

export interface ExecutionsOptions extends ExecutionSettings {
  metrics: RunMetrics;
  leases: Pick<Leases, "begin" | "end" | "isFresh" | "ensureFresh">;
  memory: Pick<RunMemory, "open">;
  waits: Pick<RunWaits, "begin" | "enterOrigin">;
  readmit(run: string): Promise<void>;
  onProgress(run: string, progress: NodeProgress): void;
  onStarted(): void;
  /**
   * `error`: the execution threw. When the lease of the run expires, a worker claims the run again.
   */
  onFinished(run: ClaimedRun, result: ExecutionOutcome | "error"): void;
}

export interface Executions {
  /** Resolves when this process no longer executes the run; never rejects. See `Leases.begin`. */
  execute(run: ClaimedRun, leaseStart: Instant, deferred?: DeferredStart): Promise<void>;
  has(run: string): boolean;
  ids(): string[];
  cancel(run: string): void;
  /** Aborts every execution, so that other workers can continue the runs. */
  close(): Promise<void>;
}

/** About the most that a claim loads of a run's steps. */
const MAX_LOADED_BYTES = 4 * 1024 * 1024;

export function createExecutions(options: ExecutionsOptions): Executions {
  const { metrics, leases, memory, waits, onFinished, onError } = options;
  const controllers = new Map<string, AbortController>();
  const unfinished = new Set<Promise<void>>();

  const executeClaimed = async (
    claimed: ClaimedRun,
    leaseStart: Instant,
    deferred?: DeferredStart,
  ): Promise<void> => {
    const { id, tenant, app, flow_id } = claimed.run;
    const path = [tenant, app, flow_id];
    const controller = new AbortController();
    // If this process still executes an earlier claim of the run, that claim has lost its lease, and
    // its execution can no longer save steps.
    controllers.get(id)?.abort("stopping");
    controllers.set(id, controller);
    leases.begin(id, leaseStart);
    options.onStarted();
    const openRun = memory.open(id, path);
    openRun.add(Math.min(claimed.bytes, MAX_LOADED_BYTES));
    let result: ExecutionOutcome | "error" = "error";
    try {
      result = await executeRun({
        ...options,
        save: deferred?.save ?? observeSteps(options.save, claimed, metrics),
        claimed,
        signal: controller.signal,
        lease: { isFresh: () => leases.isFresh(id), ensureFresh: () => leases.ensureFresh(id) },
        enterOrigin: (origin, enterOptions) => waits.enterOrigin(claimed.run, origin, enterOptions),
        beginWait: (kind, target) => waits.begin(claimed.run, kind, target),
        onMemory: openRun.add,
        readmit: () => options.readmit(id),
        onProgress: (progress) => options.onProgress(id, progress),
      });
    } catch (error) {
      onError(error);
    } finally {
      await deferred?.close();
      openRun.close();
      if (controllers.get(id) === controller) {
        controllers.delete(id);
        leases.end(id);
      }
      onFinished(claimed, result);
    }
  };

  return {
    execute(run, leaseStart, deferred) {
      const finished = executeClaimed(run, leaseStart, deferred).finally(() =>
        unfinished.delete(finished),
      );
      unfinished.add(finished);
      return finished;
    },
    has: (run) => controllers.has(run),
    ids: () => [...controllers.keys()],
    cancel: (run) => controllers.get(run)?.abort("cancelled"),
    async close() {
      for (const controller of controllers.values()) controller.abort("stopping");
      await Promise.all(unfinished);
    },
  };
}

interface ExecuteOptions
  extends ExecutionSettings,
    Pick<Execution, "enterOrigin" | "beginWait" | "readmit" | "onMemory" | "onProgress"> {
  claimed: ClaimedRun;
  /** The reason is `"cancelled"`, or `"stopping"` if another worker is to continue the run. */
  signal: AbortSignal;
  /** The lease of the run; see `Leases`. */
  lease: EffectsOptions["lease"];
}

/**
 * `lost`: the last write was rejected, because another worker holds the run, or the run has ended.
 * `stopped`: another worker is to continue the run.
 */
type ExecutionOutcome = "ended" | "suspended" | "lost" | "stopped";

type NextStatus = NonNullable<RunProgress["next"]>;

/** The last steps of an execution, and the status that the run gets with them. */
interface Ending {
  steps: readonly StepRecord[];
  next: NextStatus;
}

/**
 * Throws if the store fails before the run has had effects. A worker claims the run again when its
 * lease has expired.
 */
async function executeRun(options: ExecuteOptions): Promise<ExecutionOutcome> {
  const { claimed, timers, signal } = options;
  const interrupted = Promise.withResolvers<Ending | "stopped">();
  const interrupt = (next: NextStatus) => interrupted.resolve({ steps: [], next });
  const nodeController = new AbortController();
  const stop = () => {
    interrupted.resolve("stopped");
    // Aborts the nodes immediately: a node that fails because the hub stops must not be recorded as
    // failed.
    nodeController.abort(LEASE_RELEASED);
  };
  const { tenant, app, flow_id } = claimed.run;
  const activity = createActivity({
    ...options,
    path: [tenant, app, flow_id],
    suspend: (due_at) => interrupt({ status: "waiting", due_at }),
  });
  const execution = createExecution(options, {
    activity,
    effects: createEffects({ ...options, signal: nodeController.signal, onLost: stop }),
    signal: nodeController.signal,
  });
  const { stepLog } = execution;
  const onAbort = () => {
    if (signal.reason === "cancelled") return interrupt({ status: "cancelled" });
    stop();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const { limitMs, remainingMs } = remainingTime(options, execution);
  const error = {
    code: "run_timeout",
    message: `The run exceeds the time limit of ${limitMs} ms. Raise timeoutMs in the settings of its trigger.`,
  };
  const cancelDeadline = timers.after(remainingMs, () => interrupt({ status: "failed", error }));

  try {
    if (signal.aborted) return "stopped";
    if (claimed.run.cancel_requested) {
      const saved = await stepLog.close([], { status: "cancelled" });
      return saved === "lost" ? "lost" : "ended";
    }
    const walked = activity.work(() => walk(execution, options.loadInput, nodeController.signal));
    walked.catch(() => {}); // no unhandled rejection if the interruption wins the race
    const ending = await Promise.race([interrupted.promise, walked]);
    if (ending === "stopped") return "stopped";
    const { status } = ending.next;
    if ((await stepLog.close(ending.steps, ending.next)) === "lost") return "lost";
    if (status === "waiting" || status === "queued") return "suspended";
    nodeController.abort(RUN_ENDED);
    return "ended";
  } catch (error) {
    if (error instanceof ExecutionAborted) return "lost";
    throw error;
  } finally {
    nodeController.abort(LEASE_RELEASED); // no effect if it was aborted before
    activity.close();
    cancelDeadline();
    signal.removeEventListener("abort", onAbort);
  }
}

function createExecution(
  options: ExecuteOptions,
  { activity, effects, signal }: { activity: Activity; effects: Effects; signal: AbortSignal },
): Execution {
  const { claimed, registry, services, timers, stepTimeoutMs } = options;
  const { run, graph } = claimed;
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const definition = (id: string) => registry.get(nodes.get(id)?.type ?? "");
  /** Only loops define variables for the nodes after their item port. */
  const isLoop = (id: string) => (definition(id)?.locals[ITEM_PORT] ?? []).length > 0;
  /**
   * Retries a read: its error would end the execution before the effects of its steps are recorded.
   */
  const retryRead = <Result>(read: () => Promise<Result>) =>
    awaitStorage(timers, () => !signal.aborted, read);
  const loadSecrets = (names: readonly string[]) =>
    retryRead(() => options.loadSecrets(run.tenant, names));
  return {
    run,
    layout: createLayout(graphOf(graph), run.trigger_node, isLoop),
    node: (id) => nodes.get(id) as FlowNode,
    definition,
    trigger: {},
    stepLog: createStepLog(options),
    loadOutput: (step) => retryRead(() => options.loadOutput(run.id, step)),
    budget: createRunBudget(options.maxRunBytes, claimed.bytes),
    activity,
    services,
    loadSecrets,
    loadFlowSecrets: createFlowSecretLoader(graph.nodes, loadSecrets),
    timers,
    stepTimeoutMs,
    onProgress: options.onProgress,
    onMemory: options.onMemory,
    enterOrigin: options.enterOrigin,
    beginWait: options.beginWait,
    readmit: options.readmit,
    effects,
  };
}

function remainingTime(
  { claimed: { run, steps }, timers, runTimeoutMs }: ExecuteOptions,
  { node }: Execution,
): { limitMs: number; remainingMs: number } {
  const trigger = node(run.trigger_node) as FlowNode | undefined;
  const limitMs = (trigger && parametersOf(trigger).settings.timeoutMs) ?? runTimeoutMs;
  // The limit counts from the first step since the run was last due, even if a crashed worker
  // started that step.
  const now = timers.now();
  const startedAt = steps.reduce(
    (earliest, { started_at }) =>
      started_at < run.due_at ? earliest : Math.min(earliest, started_at),
    now,
  );
  const remainingMs = Math.min(MAX_TIMER_MS, Math.max(0, startedAt + limitMs - now));
  return { limitMs, remainingMs };
}

async function walk(
  execution: Execution,
  loadInput: ExecuteOptions["loadInput"],
  signal: AbortSignal,
): Promise<Ending> {
  const { run, layout } = execution;
  try {
    const trigger = execution.node(run.trigger_node) as FlowNode | undefined;
    if (!trigger)
      throw new RunFailed({
        code: "no_trigger",
        message: `The version of the flow that this run uses has no trigger node ${run.trigger_node}.`,
      });
    execution.trigger = await loadInput(run).catch((error: unknown) => {
      if (!(error instanceof Permanent)) throw error;
      throw new RunFailed({ code: error.code, message: error.message });
    });
    execution.onMemory(jsonBytes(execution.trigger, MAX_INPUT_BYTES));
    const frame = openFrame(execution, "", layout.main);
    const port = defaultPort(execution, trigger.id);
    const firstSteps = frame.states.has(trigger.id)
      ? []
      : [createTriggerStep(execution, trigger.id, port)];
    frame.states.set(trigger.id, { status: "done", port, output: execution.trigger });
    // A caller would mistake the empty output for a result. A run that an event started has no caller.
    if (layout.main.size === 1 && run.event_id === undefined)
      throw new RunFailed(notConnectedError(trigger), firstSteps);
    const context = { frame, locals: {}, outer: undefined, signal };
    const { steps, output } = await walkFrame(execution, context, firstSteps);
    if (jsonBytes(output, MAX_VALUE_BYTES) > MAX_VALUE_BYTES)
      throw new RunFailed(RESULT_TOO_LARGE, steps);
    return { steps, next: { status: "succeeded", output } };
  } catch (error) {
    if (!(error instanceof RunFailed)) throw error;
    return { steps: error.steps, next: { status: "failed", error: error.error } };
  }
}

/** The size of larger inputs is not measured further. Webhooks are smaller. */
const MAX_INPUT_BYTES = 32 * 1024 * 1024;

/** Possible only if the run has several last nodes: each output alone is within the limit. */
const RESULT_TOO_LARGE: RunError = {
  code: "output_too_large",
  message: `The outputs of the last nodes exceed the limit of ${MAX_VALUE_MB} MB of JSON. Add a Return node that returns less.`,
};

function notConnectedError(trigger: FlowNode): RunError {
  const tool = toolNameOf(trigger);
  const message = `The ${tool ? `tool ${tool}` : `trigger ${trigger.name}`} is not connected to any nodes, so it does nothing. Add an edge from "${trigger.name}" to another node, and publish the flow again.`;
  return { code: "trigger_leads_nowhere", message, node_id: trigger.id };
}

function createTriggerStep(
  { run, trigger, timers }: Execution,
  id: string,
  port: string,
): StepRecord {
  const now = timers.now();
  // The event is already stored, so the step contains only its id.
  const output = run.event_id === undefined ? trigger : { event_id: run.event_id };
  const key = { node_id: id, item: "", attempt: 1, started_at: now };
  return doneStep(key, { port, input: null, output }, now);
}

/**
 * Returns a function that loads the values of all secrets that a flow references, and caches them. A
 * missing secret is ignored here; the step that needs it fails.
 */
function createFlowSecretLoader(
  nodes: readonly FlowNode[],
  loadSecrets: Execution["loadSecrets"],
): Execution["loadFlowSecrets"] {
  const names = [...new Set(nodes.flatMap((node) => parametersOf(node).secretNames))];
  if (names.length === 0) return undefined;
  const loadSecret = (name: string): Promise<string[]> =>
    loadSecrets([name]).then(Object.values<string>, (error: unknown) => {
      if (error instanceof Permanent) return [];
      throw error;
    });
  let values: Promise<readonly string[]> | undefined;
  return () => {
    values ??= Promise.all(names.map(loadSecret)).then((lists) => lists.flat());
    values.catch(() => {
      values = undefined; // the next step tries again
    });
    return values;
  };
}
