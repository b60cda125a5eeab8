/** Calls a flow from a run, and waits for the called run. A later attempt waits for the same run. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import {
  createSchemaValidator,
  type ValidateSchemas,
} from "@signalbox/rules/flows/validate-schema.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { MaybeLarge } from "@signalbox/rules/large-json.ts";
import type { Store } from "../../store.ts";
import { chainFrom } from "../matching/event-input.ts";
import type { Caller, NodeServices } from "./execution.ts";
import { type ImmediateRun, type Run, TERMINAL_STATUSES } from "./model.ts";
import { checkInput, findOnlyTool, findTrigger } from "./published-trigger.ts";
import { toRunResult } from "./run-result.ts";
import type { Runner } from "./runner.ts";

export interface CallFlowOptions {
  store: Pick<
    Store,
    "getFlow" | "getVersion" | "listVersions" | "getTrigger" | "findRun" | "retryRun"
  >;
  start: Runner["start"];
  runJob: NodeServices["runJob"];
  newId: () => string;
  now: () => number;
  maxChain: number;
}

type Call = Parameters<NodeServices["callFlow"]>[1];

export function createCallFlow(options: CallFlowOptions): NodeServices["callFlow"] {
  const { store, start, now } = options;
  return async (run, call, caller: Caller) => {
    const { attempt, abandoned } = caller;
    const key = `call:${caller.key}`;
    const existing = await store.findRun(run.tenant, key);
    // An existing run keeps its version, even if a newer version has been published.
    const child = existing
      ? { ...existing, key, at: existing.created_at }
      : await newCalledRun(options, run, call, key, abandoned);
    const untilEnded = async () => (await start(child, { signal: abandoned })).ended;
    abandoned.throwIfAborted();
    if (existing && attempt > 1) {
      // A retried step retries the called run. The previous attempt may still be cancelling it.
      const isOpen = !TERMINAL_STATUSES.includes(existing.status);
      const ended = isOpen ? await untilEnded() : existing;
      abandoned.throwIfAborted(); // the next attempt retries the called run
      if (!isOpen || ended.status === "cancelled")
        await store.retryRun(run.tenant, existing.id, now());
    }
    return toOutput(await untilEnded());
  };
}

async function newCalledRun(
  { store, runJob, newId, now, maxChain }: CallFlowOptions,
  run: Run,
  call: Call,
  key: string,
  signal: AbortSignal,
): Promise<ImmediateRun> {
  if (run.depth >= maxChain)
    throw new Permanent(
      `The call exceeds the limit of ${maxChain} runs and events that cause each other. Break the cycle, or raise SIGNALBOX_MAX_CHAIN.`,
      { code: "too_deep" },
    );
  const { tenant } = run;
  const lane = [run.app, run.flow_id];
  const validate = createSchemaValidator((evaluation) =>
    runJob(evaluation, { tenant, lane, signal }),
  );
  const { trigger, input } = await findCallable(store, tenant, call, validate, now());
  return {
    id: newId(),
    tenant,
    app: trigger.app,
    flow_id: call.flow,
    version: trigger.version,
    trigger_node: trigger.node_id,
    cause: "flow",
    key,
    parent_run: run.id,
    input,
    at: now(),
    depth: run.depth + 1,
    chain: chainFrom(run),
  };
}

/** Finds an active trigger of a published flow, and validates the input for it. */
async function findCallable(
  store: CallFlowOptions["store"],
  tenant: string,
  { flow, trigger: triggerName, input }: Call,
  validate: ValidateSchemas,
  now: number,
) {
  const error = (code: string, message: string, details: Json = null) =>
    new Permanent(message, { code, details });
  const result =
    triggerName === undefined
      ? await findOnlyTool(store, tenant, flow)
      : await findTrigger(store, tenant, flow, triggerName);
  switch (result.outcome) {
    case "no_flow":
      throw error("no_such_flow", `There is no flow ${flow}.`);
    case "not_published":
      throw error("not_published", `The flow ${result.flow} is not published. Publish it first.`);
    case "no_trigger":
      throw error(
        "no_such_trigger",
        `The published version of the flow ${result.flow} has no ${triggerName === undefined ? "active tool" : `trigger ${triggerName}`}.`,
      );
    case "several_tools":
      throw error(
        "no_such_trigger",
        `The flow ${result.flow} has several active tools: set trigger to one of ${result.tools.join(", ")}.`,
      );
  }
  const { trigger, node } = result;
  if (!trigger.active) throw error("inactive_trigger", `The trigger ${node.name} is switched off.`);
  const checked = await checkInput(trigger, input, validate, now);
  if (checked.ok) return { trigger, input: checked.input };
  const reasons = checked.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw error("invalid_input", `Invalid input for ${node.name}: ${reasons}.`, checked.errors);
}

/** Throws if the called run did not succeed. After a failure, the step may be retried. */
function toOutput(run: Run): MaybeLarge {
  const result = toRunResult(run);
  switch (result.outcome) {
    case "succeeded":
      return result.output;
    case "cancelled":
      throw new Permanent("The called run was cancelled.", { code: "cancelled" });
    case "failed":
      throw Object.assign(new Error(result.message), { code: result.code });
  }
}
