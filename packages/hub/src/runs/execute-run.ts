/**
 * Executes one run until it ends or is suspended. A step with effects starts only after the steps
 * that it depends on are recorded. A worker that claims the run after a crash repeats only the steps
 * that are not recorded as done.
 */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import { graphOf } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { ITEM_PORT, type NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { jsonBytes } from "@signalbox/rules/json-bytes.ts";
import type { LargeJson, MaybeLarge, MixedObject } from "@signalbox/rules/large-json.ts";
import type { Timers } from "../lib/timers.ts";
import type { ClaimedRun, Run, RunError, RunProgress, StepRef } from "../store/run-store.ts";
import { awaitStorage } from "./await-storage.ts";
import { createEffects, type Effects } from "./effects.ts";
import { defaultPort, type Execution } from "./execution.ts";
import { flowSecrets } from "./flow-secrets.ts";
import { createLayout } from "./frame.ts";
import { MAX_VALUE_BYTES, MAX_VALUE_MB } from "./mask-value.ts";
import { nodeParts } from "./node-parts.ts";
import type { NodeServices } from "./node-services.ts";
import { openFrame } from "./open-frame.ts";
import type { SaveProgress } from "./progress-commit.ts";
import { createRunBudget } from "./run-budget.ts";
import { createStepLog } from "./step-log.ts";
import {
  done,
  ExecutionAborted,
  LEASE_RELEASED,
  RUN_ENDED,
  RunFailed,
  type StepRecord,
} from "./step-records.ts";
import { createSuspension, MAX_TIMER_MS } from "./suspension.ts";
import { walkFrame } from "./walk-frame.ts";

export interface ExecuteOptions {
  claimed: ClaimedRun;
  registry: NodeRegistry;
  services: NodeServices;
  save: SaveProgress;
  secrets: (tenant: string, names: readonly string[]) => Promise<Record<string, string>>;
  /** Loads the value of `{{ trigger }}`. */
  loadInput: (run: Run) => Promise<MixedObject | LargeJson>;
  loadOutput: (run: string, step: StepRef) => Promise<MaybeLarge>;
  timers: Timers;
  /** The reason is `"cancelled"`, or `"stopping"` if another worker is to continue the run. */
  signal: AbortSignal;
  /** The lease of the run, by which other workers know that this process executes it. */
  lease: { isFresh(): boolean; holds(): Promise<boolean> };
  acquireSlot: Execution["acquireSlot"];
  onProgress: Execution["onProgress"];
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

/**
 * `lost`: the last write was rejected, because another worker holds the run or it has ended.
 * `stopped`: another worker is to continue the run.
 */
export type Executed = "ended" | "suspended" | "lost" | "stopped";

type Next = NonNullable<RunProgress["next"]>;

/** The last steps of an execution, and the status that the run gets with them. */
interface Ending {
  steps: readonly StepRecord[];
  next: Next;
}

/** Throws if the store fails before the run has had effects. When the lease has expired, a worker claims the run again. */
export async function executeRun(options: ExecuteOptions): Promise<Executed> {
  const { claimed, timers, signal } = options;
  const interrupted = Promise.withResolvers<Ending | "stopped">();
  const interrupt = (next: Next) => interrupted.resolve({ steps: [], next });
  const aborting = new AbortController();
  const stop = () => {
    interrupted.resolve("stopped");
    // Immediately, so that a node that fails because the hub stops is not recorded as failed.
    aborting.abort(LEASE_RELEASED);
  };
  const execution = createExecution(options, {
    suspend: (due_at) => interrupt({ status: "waiting", due_at }),
    effects: createEffects({ ...options, signal: aborting.signal, onLost: stop }),
    signal: aborting.signal,
  });
  const { stepLog, suspension } = execution;
  const onAbort = () => {
    if (signal.reason === "cancelled") return interrupt({ status: "cancelled" });
    stop();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const { limit, left } = remainingTime(options, execution);
  const timeout = { code: "run_timeout", message: `The run took longer than ${limit} ms.` };
  const cancelDeadline = timers.after(left, () => interrupt({ status: "failed", error: timeout }));

  try {
    if (signal.aborted) return "stopped";
    if (claimed.run.cancel_requested) {
      const saved = await stepLog.close([], { status: "cancelled" });
      return saved === "lost" ? "lost" : "ended";
    }
    const walked = suspension.work(() => walk(execution, options.loadInput, aborting.signal));
    walked.catch(() => {}); // no unhandled rejection if the interruption wins the race
    const ending = await Promise.race([interrupted.promise, walked]);
    if (ending === "stopped") return "stopped";
    const { status } = ending.next;
    if ((await stepLog.close(ending.steps, ending.next)) === "lost") return "lost";
    if (status === "waiting" || status === "queued") return "suspended";
    aborting.abort(RUN_ENDED);
    return "ended";
  } catch (error) {
    if (error instanceof ExecutionAborted) return "lost";
    throw error;
  } finally {
    aborting.abort(LEASE_RELEASED);
    suspension.close();
    cancelDeadline();
    signal.removeEventListener("abort", onAbort);
  }
}

function createExecution(
  options: ExecuteOptions,
  {
    suspend,
    effects,
    signal,
  }: { suspend: (due: number) => void; effects: Effects; signal: AbortSignal },
): Execution {
  const { claimed, registry, services, timers, stepTimeoutMs, suspendAfterMs } = options;
  const { run, graph } = claimed;
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const definition = (id: string) => registry.get(nodes.get(id)?.type ?? "");
  const isLoop = (id: string) => (definition(id)?.locals[ITEM_PORT] ?? []).length > 0;
  /** An error would end the execution, and what its steps have done would not be recorded. */
  const read = <Result>(work: () => Promise<Result>) =>
    awaitStorage(timers, () => !signal.aborted, work);
  const secrets = (names: readonly string[]) => read(() => options.secrets(run.tenant, names));
  return {
    run,
    layout: createLayout(graphOf(graph), run.trigger_node, isLoop),
    node: (id) => nodes.get(id) as FlowNode,
    definition,
    trigger: {},
    stepLog: createStepLog(options),
    loadOutput: (step) => read(() => options.loadOutput(run.id, step)),
    budget: createRunBudget(options.maxRunBytes, claimed.bytes),
    suspension: createSuspension({ timers, suspendAfterMs, suspend }),
    services,
    secrets,
    flowSecrets: flowSecrets(graph.nodes, secrets),
    timers,
    stepTimeoutMs,
    onProgress: options.onProgress,
    acquireSlot: options.acquireSlot,
    effects,
  };
}

function remainingTime(
  { claimed: { run, steps }, timers, runTimeoutMs }: ExecuteOptions,
  { node }: Execution,
): { limit: number; left: number } {
  const trigger = node(run.trigger_node) as FlowNode | undefined;
  const limit = (trigger && nodeParts(trigger).settings.timeoutMs) ?? runTimeoutMs;
  // The limit counts from the first step since the run was last due, even if a crashed worker
  // started that step.
  const now = timers.now();
  const startedAt = steps.reduce(
    (earliest, { started_at }) =>
      started_at < run.due_at ? earliest : Math.min(earliest, started_at),
    now,
  );
  return { limit, left: Math.min(MAX_TIMER_MS, Math.max(0, startedAt + limit - now)) };
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
        message: "The version of the flow that this run uses has no such trigger.",
      });
    execution.trigger = await loadInput(run).catch((error: unknown) => {
      if (!(error instanceof Permanent)) throw error;
      throw new RunFailed({ code: error.code, message: error.message });
    });
    const frame = openFrame(execution, "", layout.main);
    const port = defaultPort(execution, trigger.id);
    const first = frame.states.has(trigger.id) ? [] : [triggerStep(execution, trigger.id, port)];
    frame.states.set(trigger.id, { status: "done", port, output: execution.trigger });
    // A run of an event has no caller that would take its empty output for a result.
    if (layout.main.size === 1 && run.event_id === undefined)
      throw new RunFailed(notConnected(trigger), first);
    const context = { frame, locals: {}, outer: undefined, signal };
    const { steps, output } = await walkFrame(execution, context, first);
    if (jsonBytes(output, MAX_VALUE_BYTES) > MAX_VALUE_BYTES)
      throw new RunFailed(resultTooLarge, steps);
    return { steps, next: { status: "succeeded", output } };
  } catch (error) {
    if (!(error instanceof RunFailed)) throw error;
    return { steps: error.steps, next: { status: "failed", error: error.error } };
  }
}

/** Only a run with several last nodes: each of their outputs is small enough. */
const resultTooLarge: RunError = {
  code: "output_too_large",
  message: `The outputs of the last nodes exceed the limit of ${MAX_VALUE_MB} MB of JSON. Add a Return node that returns less.`,
};

function notConnected(trigger: FlowNode): RunError {
  const tool = toolNameOf(trigger);
  const message = `The ${tool ? `tool ${tool}` : `trigger ${trigger.name}`} is not connected to any nodes, so it does nothing. Add an edge from "${trigger.name}" to another node, and publish the flow again.`;
  return { code: "trigger_leads_nowhere", message, node_id: trigger.id };
}

function triggerStep({ run, trigger, timers }: Execution, id: string, port: string): StepRecord {
  const now = timers.now();
  // The event is already stored, so the step contains only its id.
  const output = run.event_id === undefined ? trigger : { event_id: run.event_id };
  const key = { node_id: id, item: "", attempt: 1, started_at: now };
  return done(key, { port, input: null, output }, now);
}
