/** Makes one attempt at a node: provides its context and services, and checks its output. */
import type { ModelRequest } from "@signalbox/rules/flows/agent/model.ts";
import type { NodeContext, NodeResult, Resumed } from "@signalbox/rules/flows/node-type.ts";
import type { OutboundRequest } from "@signalbox/rules/flows/outbound.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import {
  LargeJson,
  type MixedJson,
  type MixedObject,
  writeJson,
} from "@signalbox/rules/large-json.ts";
import { writeShared } from "@signalbox/rules/write-shared.ts";
import type { Outside } from "./activity.ts";
import {
  type AttemptLimit,
  type AttemptRecord,
  type AttemptResult,
  attempt,
  unknownTypeFailure,
} from "./attempt.ts";
import { type Execution, type FrameContext, loadForNode, templateScope } from "./execution.ts";
import { type LoadedOutputs, nodeInputs } from "./frame.ts";
import type { Caller } from "./node-services.ts";
import type { Parts } from "./record-part.ts";
import { outboundOrigin } from "./run-waits.ts";
import { RUN_ENDED } from "./step-records.ts";
import { maskValue } from "./step-values.ts";

export async function attemptNode(
  execution: Execution,
  context: FrameContext,
  id: string,
  {
    attempt: attemptNumber,
    resumed,
    parts,
  }: { attempt: number; resumed: Resumed | undefined; parts: Parts },
): Promise<AttemptResult> {
  const node = execution.node(id);
  const definition = execution.definition(id);
  if (!definition) return unknownTypeFailure(node);
  const { run, services } = execution;
  const key = idempotencyKey(run.id, id, context.frame.iteration);
  const outside = execution.activity.openOutside();
  const perform = createPerform(execution, outside);
  const calls = createCalls(execution, context, perform, { key, attempt: attemptNumber });
  // Repeated, because outputs may be evicted from memory during the wait; see `loadForNode`.
  let loading = loadForNode(execution, context, id);
  while (loading instanceof Promise) loading = loadForNode(execution, context, id, await loading);
  const loaded = loading;
  const attempted = await attempt({
    tenant: run.tenant,
    lane: [run.app, run.flow_id],
    node,
    definition,
    scope: templateScope(execution, context, loaded),
    signal: context.signal,
    loadSecrets: execution.loadSecrets,
    loadFlowSecrets: execution.loadFlowSecrets,
    timers: execution.timers,
    defaultTimeoutMs: execution.stepTimeoutMs,
    runJob: (evaluation, caller) =>
      outside.wait(() => services.runJob(evaluation, caller), caller.onQueued),
    budget: execution.budget,
    record: parts.record,
    callTool: (call, { onProgress, ...limit }) =>
      perform(limit, (beforeSend) =>
        services.callTool(run, call, {
          signal: limit.signal,
          key,
          beforeSend,
          onProgress,
          enterOrigin: (origin) => enterOrigin(execution, origin, limit),
        }),
      ),
    listTools: (connection, { signal, stopClock }) =>
      outside.wait(() => services.listTools(run, connection, { signal }), stopClock),
    onProgress: (progress) => execution.onProgress({ ...progress, node_id: id }),
    context: (limit) => ({
      ...nodeContext(execution, context, id, attemptNumber, loaded),
      ...createRequests(execution, perform, limit),
      idempotencyKey: key,
      ...calls.services(limit),
      ...(resumed && { resumed }),
    }),
  });
  await outside.close();
  await calls.close();
  if (!("result" in attempted)) return attempted;
  const { result, ...record } = attempted;
  if ("wait" in result || "each" in result) return attempted;
  return withValidOutput(execution, id, { ...record, result });
}

function nodeContext(
  execution: Execution,
  { frame }: FrameContext,
  id: string,
  attempt: number,
  loaded: LoadedOutputs,
) {
  const { run, services, timers } = execution;
  const slugOf = (node: string) => execution.node(node).slug;
  const inputs = nodeInputs(execution.layout, frame, id, slugOf, loaded);
  return {
    input: inputs.length === 1 ? (inputs[0]?.output ?? null) : bySlug(inputs),
    inputs,
    run: { id: run.id, flowId: run.flow_id, nodeId: id, slug: slugOf(id), attempt },
    newNonce: services.newNonce,
    now: timers.now,
  };
}

/** Performs an effect. The run has no slot while the effect is in progress. */
type Perform = <Result>(
  limit: AttemptLimit,
  effect: (beforeSend: () => void) => Promise<Result>,
) => Promise<Result>;

const createPerform =
  ({ effects }: Execution, outside: Outside): Perform =>
  (limit, effect) =>
    outside.wait(() => effects.perform(effect), limit.stopClock);

const enterOrigin = (execution: Execution, origin: string, limit: AttemptLimit) =>
  execution.enterOrigin(origin, { signal: limit.signal, onQueued: limit.stopClock });

/** Creates the services that send requests to servers of the flow's author. */
function createRequests(execution: Execution, perform: Perform, limit: AttemptLimit) {
  const { services } = execution;
  const send = <Result>(origin: string, request: (beforeSend: () => void) => Promise<Result>) =>
    perform(limit, async (beforeSend) => {
      const leave = await enterOrigin(execution, origin, limit);
      return request(beforeSend).finally(leave);
    });
  return {
    fetch: (request: OutboundRequest) =>
      send(outboundOrigin(request.url), (beforeSend) => services.fetch({ ...request, beforeSend })),
    model: (request: ModelRequest, signal: AbortSignal) =>
      send(originOfModel(request.model), (beforeSend) =>
        services.model(request, signal, beforeSend),
      ),
  };
}

const originOfModel = ({ provider, baseUrl }: ModelRequest["model"]): string =>
  baseUrl === undefined ? `https://api.${provider}.com` : outboundOrigin(baseUrl);

type CallService = "emit" | "callFlow" | "inbox";

/** Creates the services that a node can use only until its attempt ends. */
function createCalls(
  { run, services, beginWait, readmit }: Execution,
  { signal }: FrameContext,
  perform: Perform,
  step: Pick<Caller, "key" | "attempt">,
) {
  const abandoned = new AbortController();
  const caller = () => ({ ...step, abandoned: abandoned.signal });
  let hasCalled = false;
  let hasEnded = false;
  /** Throws if the attempt has ended while the effect waited for the storage. */
  const performOpen = <Result>(limit: AttemptLimit, effect: () => Promise<Result>) =>
    perform(limit, () => {
      if (hasEnded) throw new Error("The attempt at this step has ended.");
      return effect();
    });
  return {
    services: (limit: AttemptLimit): Pick<NodeContext<JsonObject>, CallService> => ({
      emit: (event) => performOpen(limit, () => services.emit(run, event, caller())),
      callFlow: (call) =>
        performOpen(limit, () => {
          hasCalled = true;
          const endWait = beginWait("run", call.flow);
          return services.callFlow(run, call, caller()).finally(endWait);
        }),
      inbox: {
        listTools: services.inbox.listTools,
        callTool: (call) => performOpen(limit, () => services.inbox.callTool(run, call, signal)),
      },
    }),
    /** Cancels called runs, unless another worker continues this run and waits for them again. */
    async close(): Promise<void> {
      hasEnded = true;
      if (!hasCalled) return;
      if (!signal.aborted || signal.reason === RUN_ENDED) abandoned.abort();
      if (!signal.aborted) await readmit(); // another run may have been claimed during the call
    },
  };
}

/** Masks and measures the output. Later nodes get only the masked output: they could send it on. */
export function withValidOutput(
  { budget }: Execution,
  node_id: string,
  { result, ...record }: AttemptRecord & { result: NodeOutput },
): AttemptResult<NodeOutput> {
  // A node such as Return outputs a part of its config, where a large value may occur several times.
  const write = record.input instanceof LargeJson ? writeShared : writeJson;
  const masked = maskValue(record.mask, result.output, "output", budget, write);
  if ("value" in masked) return { ...record, result: { ...result, output: masked.value } };
  return { ...record, error: { ...masked.error, node_id }, retryAt: "never" };
}

type NodeOutput = Extract<NodeResult, { output: unknown }>;

/** The key is the same for every attempt at the step, in any process. */
const idempotencyKey = (run: string, node: string, iteration: string): string =>
  iteration === "" ? `${run}:${node}` : `${run}:${node}:${iteration}`;

const bySlug = (inputs: readonly { slug: string; output: MixedJson }[]): MixedObject =>
  Object.fromEntries(inputs.map(({ slug, output }) => [slug, output]));
