/** Makes one attempt at a node: provides its context and services, and checks its output. */
import type { ModelRequest } from "@signalbox/rules/flows/agent/model.ts";
import type { NodeContext, NodeResult, Resumed } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import {
  LargeJson,
  type MixedJson,
  type MixedObject,
  writeJson,
} from "@signalbox/rules/large-json.ts";
import { writeShared } from "@signalbox/rules/write-shared.ts";
import { type AttemptResult, attempt, unknownTypeFailure } from "./attempt.ts";
import { type Execution, type FrameContext, templateScope } from "./execution.ts";
import { nodeInputs } from "./frame.ts";
import { loadForNode } from "./load-outputs.ts";
import { maskValue } from "./mask-value.ts";
import type { Caller } from "./node-services.ts";
import type { Parts } from "./record-part.ts";
import type { RunBudget } from "./run-budget.ts";
import { RUN_ENDED, RunFailed, type StepRecord } from "./step-records.ts";
import type { LoadedOutputs } from "./stored-output.ts";

type LoopResult = Extract<NodeResult, { each: unknown }>["each"];

/** Runs the iterations of a loop; returns the result of each. */
export type RunIterations = (
  context: FrameContext,
  loop: string,
  each: LoopResult,
) => Promise<MixedJson[]>;

/** The result is an output or a wait. If the node is a loop, its iterations have already run. */
export type NodeAttempt = AttemptResult<Exclude<NodeResult, { each: unknown }>> & {
  /** Steps of the loop's iterations that are not recorded yet. */
  unrecorded?: readonly StepRecord[];
};
type SucceededAttempt = Extract<NodeAttempt, { result: unknown }>;
export type FailedNodeAttempt = Exclude<NodeAttempt, { result: unknown }>;

export async function attemptNode(
  execution: Execution,
  context: FrameContext,
  id: string,
  {
    attempt: attemptNumber,
    resumed,
    parts,
  }: { attempt: number; resumed: Resumed | undefined; parts: Parts },
  runIterations: RunIterations,
): Promise<NodeAttempt> {
  const node = execution.node(id);
  const definition = execution.definition(id);
  if (!definition) return unknownTypeFailure(node);
  const { run, services, effects } = execution;
  const key = idempotencyKey(run.id, id, context.frame.iteration);
  const calls = createCalls(execution, context, { key, attempt: attemptNumber });
  // Repeated, because outputs may be evicted from memory during the wait; see `loadForNode`.
  let loading = loadForNode(execution, context, id);
  while (loading instanceof Promise) loading = loadForNode(execution, context, id, await loading);
  const loaded = loading;
  const attempted = await attempt({
    tenant: run.tenant,
    node,
    definition,
    scope: templateScope(execution, context, loaded),
    signal: context.signal,
    loadSecrets: execution.loadSecrets,
    loadFlowSecrets: execution.loadFlowSecrets,
    timers: execution.timers,
    defaultTimeoutMs: execution.stepTimeoutMs,
    evaluate: services.evaluate,
    budget: execution.budget,
    record: parts.record,
    callTool: (call, caller) =>
      effects.perform((beforeSend) => services.callTool(run, call, { ...caller, key, beforeSend })),
    listTools: (connection, caller) => services.listTools(run, connection, caller),
    onProgress: (progress) => execution.onProgress({ ...progress, node_id: id }),
    context: {
      ...nodeContext(execution, context, id, attemptNumber, loaded),
      idempotencyKey: key,
      ...calls.services,
      ...(resumed && { resumed }),
    },
  });
  await calls.close();
  if (!("result" in attempted)) return attempted;
  const { result, ...record } = attempted;
  if ("wait" in result) return { ...record, result };
  if (!("each" in result)) return withValidOutput({ ...record, result }, id, execution.budget);
  try {
    const output = await runIterations(context, id, result.each);
    return withValidOutput({ ...record, result: { output } }, id, execution.budget);
  } catch (error) {
    if (!(error instanceof RunFailed)) throw error;
    // The loop is not retried, because the nodes in its body have their own retries.
    return { ...record, error: error.error, retryAt: "never", unrecorded: error.steps };
  }
}

function nodeContext(
  execution: Execution,
  { frame }: FrameContext,
  id: string,
  attempt: number,
  loaded: LoadedOutputs,
) {
  const { run, services, timers, effects } = execution;
  const slugOf = (node: string) => execution.node(node).slug;
  const inputs = nodeInputs(execution.layout, frame, id, slugOf, loaded);
  return {
    input: inputs.length === 1 ? (inputs[0]?.output ?? null) : bySlug(inputs),
    inputs,
    run: { id: run.id, flowId: run.flow_id, nodeId: id, slug: slugOf(id), attempt },
    fetch: effects.guard(services.fetch),
    model: (request: ModelRequest, signal: AbortSignal) =>
      effects.perform((beforeSend) => services.model(request, signal, beforeSend)),
    newNonce: services.newNonce,
    now: timers.now,
  };
}

type CallService = "emit" | "callFlow" | "inbox";

/** Creates the services that a node can use only until its attempt ends. */
function createCalls(
  { run, services, acquireSlot, effects }: Execution,
  { signal }: FrameContext,
  step: Pick<Caller, "key" | "attempt">,
) {
  const abandoned = new AbortController();
  const caller = () => ({ ...step, abandoned: abandoned.signal });
  let hasCalled = false;
  let hasEnded = false;
  /** Throws if the attempt has ended while the effect waited for the storage. */
  const perform = <Result>(effect: () => Promise<Result>) =>
    effects.perform(() => {
      if (hasEnded) throw new Error("The attempt at this step has ended.");
      return effect();
    });
  const provided: Pick<NodeContext<JsonObject>, CallService> = {
    emit: (event) => perform(() => services.emit(run, event, caller())),
    callFlow: (call) =>
      perform(() => {
        hasCalled = true;
        return services.callFlow(run, call, caller());
      }),
    inbox: {
      listTools: services.inbox.listTools,
      callTool: (call) => perform(() => services.inbox.callTool(run, call, signal)),
    },
  };
  return {
    services: provided,
    /** Cancels called runs, unless another worker continues this run and waits for them again. */
    async close(): Promise<void> {
      hasEnded = true;
      if (!hasCalled) return;
      if (!signal.aborted || signal.reason === RUN_ENDED) abandoned.abort();
      if (!signal.aborted) await acquireSlot(); // the run may have released its slot during the call
    },
  };
}

/** Masks and measures the output. Later nodes get only the masked output: they could send it on. */
function withValidOutput(
  { result, ...record }: SucceededAttempt & { result: { output: MixedJson } },
  node_id: string,
  budget: RunBudget,
): NodeAttempt {
  // A node such as Return outputs a part of its config, where a large value may occur several times.
  const write = record.input instanceof LargeJson ? writeShared : writeJson;
  const masked = maskValue(record.mask, result.output, "output", budget, write);
  if ("value" in masked) return { ...record, result: { ...result, output: masked.value } };
  return { ...record, error: { ...masked.error, node_id }, retryAt: "never" };
}

/** The key is the same for every attempt at the step, in any process. */
const idempotencyKey = (run: string, node: string, iteration: string): string =>
  iteration === "" ? `${run}:${node}` : `${run}:${node}:${iteration}`;

const bySlug = (inputs: readonly { slug: string; output: MixedJson }[]): MixedObject =>
  Object.fromEntries(inputs.map(({ slug, output }) => [slug, output]));
