/** Runs one node to its end: all attempts at it, and the waits between them. */
import { errorOutput } from "@signalbox/rules/flows/errors.ts";
import {
  ERROR_PORT,
  type NodeContext,
  type NodeResult,
  type Resumed,
} from "@signalbox/rules/flows/node-type.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { type AttemptResult, attempt, unknownType } from "./attempt.ts";
import { defaultPort, type Execution, type FrameContext, templateScope } from "./execution.ts";
import { nodeInputs } from "./frame.ts";
import { nodeParts } from "./node-parts.ts";
import {
  countAttempts,
  done,
  ExecutionAborted,
  failed,
  pendingWait,
  RUN_ENDED,
  RunFailed,
  type StepKey,
  type StepRecord,
  waiting,
} from "./step-records.ts";

type Each = Extract<NodeResult, { each: unknown }>["each"];

/** Runs the iterations of a loop; returns the result of each. */
export type RunIterations = (context: FrameContext, loop: string, each: Each) => Promise<Json[]>;

/** A result with an output, or a wait. The iterations of a loop have run already. */
type NodeAttempt = AttemptResult<Exclude<NodeResult, { each: unknown }>> & {
  /** Steps of its iterations that are not recorded yet. */
  unrecorded?: readonly StepRecord[];
};
type Succeeded = Extract<NodeAttempt, { result: unknown }>;
type Failed = Exclude<NodeAttempt, { result: unknown }>;

/**
 * Sets the node's state in its frame and returns the steps that are not recorded yet. Throws
 * `RunFailed` or `ExecutionAborted`.
 */
export async function runNode(
  execution: Execution,
  context: FrameContext,
  id: string,
  runIterations: RunIterations,
): Promise<StepRecord[]> {
  const { stepLog, suspension, timers } = execution;
  const { frame, signal } = context;
  const records = stepLog.recorded(frame.item, id);
  const attempts = countAttempts(records);
  let resumed: Resumed | undefined;
  let since: number | undefined;

  const pending = pendingWait(records);
  if (pending) {
    if (pending.due !== null && pending.due > timers.now())
      await suspension.until(pending.due, signal);
    if (pending.kind === "wait") ({ resumed, since } = pending);
  }
  for (;;) {
    if (signal.aborted) throw new ExecutionAborted();
    const number = attempts.next;
    const started_at = since ?? timers.now();
    const key: StepKey = { node_id: id, item: frame.item, attempt: number, started_at };
    const outcome = await attemptNode(execution, context, id, { number, resumed }, runIterations);
    if (signal.aborted) throw new ExecutionAborted();

    if (!("result" in outcome)) {
      attempts.failures += 1;
      const handled = handleFailure(execution, context, key, outcome, attempts.failures);
      if (!("retryAt" in handled)) return handled.steps;
      await stepLog.write(handled.steps);
      await suspension.until(handled.retryAt, signal);
      attempts.next += 1;
      [resumed, since] = [undefined, undefined];
      continue;
    }
    const { input, result, mask, log } = outcome;
    if ("wait" in result) {
      const wait = { ...result.wait, state: mask.json(result.wait.state ?? null) };
      await stepLog.write([waiting(key, input, wait)]);
      await suspension.until(wait.until, signal);
      [resumed, since] = [{ state: wait.state }, started_at];
      continue;
    }
    const { port = defaultPort(execution, id), output } = result;
    frame.states.set(id, { status: "done", port, output });
    return [done(key, { port, output, input, log }, timers.now())];
  }
}

/** Schedules a retry, or continues at the port for errors; throws `RunFailed` if there is neither. */
function handleFailure(
  execution: Execution,
  { frame }: FrameContext,
  key: StepKey,
  { input, error, log, retryAt: wanted, unrecorded = [] }: Failed,
  failures: number,
): { steps: StepRecord[]; retryAt: number } | { steps: StepRecord[] } {
  const now = execution.timers.now();
  const { settings } = nodeParts(execution.node(key.node_id));
  const retryAt = nextRetry(wanted, failures, settings.retries, now);
  const step = failed(key, { input, error, log, retryAt }, now);
  if (retryAt !== undefined) return { steps: [...unrecorded, step], retryAt };
  const port = errorPort(execution, key.node_id, settings.continueOnError === true);
  if (port === undefined) throw new RunFailed(error, [...unrecorded, step]);
  const state = { status: "done", port, output: errorOutput(error) } as const;
  frame.states.set(key.node_id, state);
  return { steps: [...unrecorded, { ...step, ...state }] };
}

async function attemptNode(
  execution: Execution,
  context: FrameContext,
  id: string,
  { number, resumed }: { number: number; resumed: Resumed | undefined },
  runIterations: RunIterations,
): Promise<NodeAttempt> {
  const node = execution.node(id);
  const definition = execution.definition(id);
  if (!definition) return unknownType(node);
  const calls = createCalls(execution, context, id, number);
  const attempted = await attempt({
    tenant: execution.run.tenant,
    node,
    definition,
    scope: templateScope(execution, context),
    signal: context.signal,
    secrets: execution.secrets,
    flowSecrets: execution.flowSecrets,
    timers: execution.timers,
    defaultTimeoutMs: execution.stepTimeoutMs,
    evaluate: execution.services.evaluate,
    context: {
      ...nodeContext(execution, context, id, number),
      ...calls.services,
      ...(resumed && { resumed }),
    },
  });
  await calls.close();
  if (!("result" in attempted)) return attempted;
  const { result, ...record } = attempted;
  if ("wait" in result) return { ...record, result };
  if (!("each" in result)) return withValidOutput({ ...record, result }, id);
  try {
    const output = await runIterations(context, id, result.each);
    return withValidOutput({ ...record, result: { output } }, id);
  } catch (error) {
    if (!(error instanceof RunFailed)) throw error;
    // The nodes inside the loop have their own retries; iterations that are done stay done.
    return { ...record, error: error.error, retryAt: "never", unrecorded: error.steps };
  }
}

type Calls = "emit" | "callFlow";

function nodeContext(execution: Execution, { frame }: FrameContext, id: string, attempt: number) {
  const { run, services, timers } = execution;
  const slugOf = (other: string) => execution.node(other).slug;
  const inputs = nodeInputs(execution.layout, frame, id, slugOf);
  return {
    ...services,
    input: inputs.length === 1 ? (inputs[0]?.output ?? null) : bySlug(inputs),
    inputs,
    run: { id: run.id, flowId: run.flow_id, nodeId: id, slug: slugOf(id), attempt },
    idempotencyKey: idempotencyKey(run.id, id, frame.item),
    now: timers.now,
  };
}

/** The services of a node that other runs can outlive: called flows and emitted events. */
function createCalls(
  { run, services, acquireSlot }: Execution,
  { frame, signal }: FrameContext,
  id: string,
  attempt: number,
) {
  const abandoned = new AbortController();
  const caller = () => ({
    key: idempotencyKey(run.id, id, frame.item),
    attempt,
    abandoned: abandoned.signal,
  });
  let hasCalled = false;
  const provided: Pick<NodeContext<JsonObject>, Calls> = {
    emit: (event) => services.emit(run, event, caller()),
    callFlow(call) {
      hasCalled = true;
      return services.callFlow(run, call, caller());
    },
  };
  return {
    services: provided,
    /** Cancels called runs, unless another worker continues this run and waits for them again. */
    async close(): Promise<void> {
      if (!hasCalled) return;
      if (!signal.aborted || signal.reason === RUN_ENDED) abandoned.abort();
      if (!signal.aborted) await acquireSlot();
    },
  };
}

const MAX_OUTPUT_MB = 16;

/** Masks the output for later nodes as well, since they could send it elsewhere. */
function withValidOutput(
  { result, ...record }: Succeeded & { result: { output: Json } },
  node_id: string,
): NodeAttempt {
  let error = {
    code: "output_too_large",
    message: `The output of the step exceeds the limit of ${MAX_OUTPUT_MB} MB of JSON. Return less.`,
  };
  try {
    const output = record.mask.json(result.output);
    // `undefined` is no JSON either, but a node may leave its output out.
    if ((JSON.stringify(output) ?? "").length <= MAX_OUTPUT_MB * 1_000_000)
      return { ...record, result: { ...result, output } };
  } catch (cause) {
    if (!(cause instanceof RangeError))
      error = { code: "output_not_json", message: `The output is not JSON: ${cause}` };
  }
  return { ...record, error: { ...error, node_id }, retryAt: "never" };
}

function errorPort(execution: Execution, id: string, continues: boolean): string | undefined {
  const edges = execution.layout.graph.outgoing(id);
  if (edges.some(({ sourceHandle }) => sourceHandle === ERROR_PORT)) return ERROR_PORT;
  return continues ? defaultPort(execution, id) : undefined;
}

const MAX_BACKOFF_MS = 3_600_000;

function nextRetry(
  wanted: number | "backoff" | "never",
  failures: number,
  { attempts = 1, backoffMs = 0 }: { attempts?: number; backoffMs?: number } = {},
  now: number,
): number | undefined {
  if (wanted === "never" || failures >= attempts) return undefined;
  if (wanted !== "backoff") return wanted;
  return now + Math.min(backoffMs * 2 ** (failures - 1), MAX_BACKOFF_MS);
}

/** The same for every attempt at the step, in any process. */
const idempotencyKey = (run: string, node: string, item: string): string =>
  item === "" ? `${run}:${node}` : `${run}:${node}:${item}`;

const bySlug = (inputs: readonly { slug: string; output: Json }[]): JsonObject =>
  Object.fromEntries(inputs.map(({ slug, output }) => [slug, output]));
