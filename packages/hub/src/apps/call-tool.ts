/** A tool of an app is a trigger of one of its flows: calling it is a run. */

import type { JsonObject } from "@signalbox/rules/json.ts";
import { RequestError } from "../lib/request-error.ts";
import { limitOf } from "../runs/lanes.ts";
import { checkInput, findTrigger } from "../runs/published-trigger.ts";
import type { Runner, Started, StartOptions } from "../runs/runner.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { Cause, ImmediateRun, LaneLimit } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";

export interface ToolCallsOptions {
  store: Pick<Store, "findTool" | "getTrigger" | "getFlow" | "getVersion" | "listVersions">;
  runner: Pick<Runner, "start" | "startInLane" | "queue" | "follow">;
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
  const runFrom = (trigger: StoredTrigger, input: JsonObject, cause: Cause): ImmediateRun => {
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

  /** At once; where only so many may be under way, in its turn. */
  const begin = async (trigger: StoredTrigger, run: ImmediateRun, options?: StartOptions) => {
    const limit = laneFor(trigger, run);
    if (!limit) return runner.start(run, options);
    const started = await runner.startInLane({ ...run, limit }, options);
    if (started === "full") throw busy(trigger, limit);
    return started;
  };

  return {
    /** The changes of a run; see `followRun`. */
    follow: runner.follow,

    /** `token` is that of whoever calls. */
    async call(
      tenant: string,
      app: string,
      name: string,
      given: unknown,
      { token, ...options }: StartOptions & { token?: string } = {},
    ): Promise<CalledTool> {
      const found = await store.findTool(tenant, app, name, now());
      if (!found)
        throw new RequestError("not_found", "name", `There is no tool ${name.slice(0, 100)}.`);
      const { trigger, alias } = found;
      if (!trigger.active)
        throw new RequestError("not_found", "name", `The tool ${name} is switched off at present.`);
      const input = inputOf(trigger, given);
      const run = { ...runFrom(trigger, input, "tool"), token_id: token };
      const started = await begin(trigger, run, options);
      return { ...started, trigger, renamedTo: (alias && trigger.tool_name) || undefined };
    },

    /** From any trigger of a published flow. */
    async start(wanted: WantedRun): Promise<Started> {
      const trigger = await triggerOf(wanted);
      return begin(trigger, runFrom(trigger, inputOf(trigger, wanted.input), "api"));
    },

    /** As `start`, but for whoever takes it. */
    async queue(wanted: WantedRun): Promise<string> {
      const trigger = await triggerOf(wanted);
      const run = runFrom(trigger, inputOf(trigger, wanted.input), "api");
      const limit = laneFor(trigger, run);
      const [id] = await runner.queue([{ ...run, due_at: run.at, limit }]);
      if (limit && id === null) throw busy(trigger, limit);
      return run.id;
    },
  };

  async function triggerOf(wanted: WantedRun): Promise<StoredTrigger> {
    const { tenant, flow, trigger: name, onlyActive } = wanted;
    const found = await findTrigger(store, tenant, flow, name);
    switch (found.outcome) {
      case "no_flow":
        throw new RequestError("not_found", "flow", `There is no flow ${flow}.`);
      case "not_published":
        throw new RequestError(
          "invalid",
          "trigger",
          "The flow has not been published yet: publish it, then it can run.",
        );
      case "no_trigger":
        throw new RequestError(
          "invalid",
          "trigger",
          `The published flow has no trigger ${name.slice(0, 100)}.`,
        );
    }
    const { trigger, node } = found;
    if (onlyActive && !trigger.active)
      throw new RequestError(
        "conflict",
        "trigger",
        `The trigger ${node.name} is switched off at present.`,
      );
    return trigger;
  }
}

/** Of an event, a path leads into its data. */
const laneFor = (trigger: StoredTrigger, { input }: ImmediateRun): LaneLimit | undefined =>
  limitOf(trigger, trigger.kind === "event" ? (input.data ?? null) : input);

function busy({ kind }: StoredTrigger, { most }: LaneLimit): RequestError {
  const runs = most === 1 ? "1 run" : `${most} runs`;
  const what = kind === "intent" ? "tool" : "trigger";
  const words = `busy: ${runs} of this ${what} ${most === 1 ? "is" : "are"} under way`;
  return new RequestError("busy", "trigger", `${words}; try again later.`);
}

function inputOf(trigger: StoredTrigger, given: unknown): JsonObject {
  const checked = checkInput(trigger, given);
  if (checked.ok) return checked.input;
  throw new RequestError(
    "invalid",
    trigger.kind === "intent" ? "arguments" : "input",
    checked.errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
    checked.errors,
  );
}
