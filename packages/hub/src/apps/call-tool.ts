/** A tool of an app is a trigger of one of its flows: calling it is a run. */
import { checkArguments, parametersSchema } from "../flows/parameters.ts";
import { Fault } from "../lib/fault.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Runner, RunWatch, Started } from "../runs/runner.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { Cause, StartedRun } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";

export interface ToolCallsOptions {
  store: Pick<Store, "findTool" | "getTrigger" | "getFlow" | "getVersion">;
  runner: Pick<Runner, "start" | "queue">;
  newId: () => string;
  now: () => number;
}

export interface CalledTool extends Started {
  trigger: StoredTrigger;
  /** It was called by a former name; this is the one to use from now on. */
  renamedTo: string | undefined;
}

export interface WantedRun {
  tenant: string;
  flow: string;
  /** The node's id or slug. */
  trigger: string;
  input: unknown;
  /** One that is switched off is for those who try it out. */
  onlyActive: boolean;
}

export type ToolCalls = ReturnType<typeof createToolCalls>;

export function createToolCalls({ store, runner, newId, now }: ToolCallsOptions) {
  const runFrom = (trigger: StoredTrigger, input: JsonObject, cause: Cause): StartedRun => {
    const at = now();
    const { tenant, app, flow_id, version, node_id } = trigger;
    return {
      id: newId(),
      tenant,
      app,
      flow_id,
      version,
      trigger_node: node_id,
      cause,
      input,
      at,
      depth: 0,
    };
  };

  return {
    async call(
      tenant: string,
      app: string,
      name: string,
      given: unknown,
      watch?: RunWatch,
    ): Promise<CalledTool> {
      const found = await store.findTool(tenant, app, name, now());
      if (!found) throw new Fault("not_found", "name", `There is no tool ${name.slice(0, 100)}.`);
      const { trigger, alias } = found;
      if (!trigger.active)
        throw new Fault("not_found", "name", `The tool ${name} is switched off at present.`);
      const input = checkInput(trigger, given);
      const started = await runner.start(runFrom(trigger, input, "tool"), watch);
      return { ...started, trigger, renamedTo: (alias && trigger.tool_name) || undefined };
    },

    /** From any trigger of a published flow. */
    async start(wanted: WantedRun): Promise<Started> {
      const trigger = await findTrigger(wanted);
      return runner.start(runFrom(trigger, checkInput(trigger, wanted.input), "api"));
    },

    /** As `start`, but for whoever takes it. */
    async queue(wanted: WantedRun): Promise<string> {
      const trigger = await findTrigger(wanted);
      const run = runFrom(trigger, checkInput(trigger, wanted.input), "api");
      await runner.queue([{ ...run, due_at: run.at }]);
      return run.id;
    },
  };

  async function findTrigger(wanted: WantedRun): Promise<StoredTrigger> {
    const { tenant, flow: id, trigger: name, onlyActive } = wanted;
    const flow = await store.getFlow(tenant, id);
    if (!flow) throw new Fault("not_found", "flow", `There is no flow ${id}.`);
    if (flow.version === null)
      throw new Fault(
        "invalid",
        "trigger",
        "The flow has not been published yet: publish it, then it can run.",
      );
    // As it was published: the draft may call its nodes something else by now.
    const nodes = (await store.getVersion(tenant, id, flow.version))?.nodes ?? [];
    const node = nodes.find((one) => one.id === name) ?? nodes.find((one) => one.slug === name);
    const trigger = node && (await store.getTrigger(tenant, id, node.id));
    if (!trigger)
      throw new Fault(
        "invalid",
        "trigger",
        `The published flow has no trigger ${name.slice(0, 100)}.`,
      );
    if (onlyActive && !trigger.active)
      throw new Fault(
        "conflict",
        "trigger",
        `The trigger ${node.name} is switched off at present.`,
      );
    return trigger;
  }
}

function checkInput({ kind, config }: StoredTrigger, given: unknown): JsonObject {
  if (kind !== "intent") {
    if (typeof given === "object" && given !== null && !Array.isArray(given))
      return given as JsonObject;
    throw new Fault("invalid", "input", "must be an object");
  }
  const checked = checkArguments(parametersSchema.parse(config.parameters), given);
  if (checked.ok) return checked.input;
  throw new Fault(
    "invalid",
    "arguments",
    checked.errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
    checked.errors,
  );
}
