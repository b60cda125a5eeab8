/** Calls tools of apps, and starts flows from their triggers. Each call starts a run. */

import { writePath } from "@signalbox/rules/flows/issues.ts";
import { createSchemaValidator } from "@signalbox/rules/flows/validate-schema.ts";
import type { Json, JsonObject, JsonSchema } from "@signalbox/rules/json.ts";
import { laneKey } from "@signalbox/rules/match/lane-key.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { StoredTrigger } from "../model.ts";
import { limitOf } from "../runs/lanes.ts";
import type { Cause, ImmediateRun, LaneLimit, Run } from "../runs/model.ts";
import { checkInput, findTrigger } from "../runs/published-trigger.ts";
import type { Runner, StartedRun, StartOptions } from "../runs/runner.ts";

export interface ToolCallsOptions {
  store: Pick<Store, "findTool" | "getTrigger" | "getFlow" | "getVersion" | "listVersions">;
  runner: Pick<Runner, "start" | "startInLane" | "queue" | "follow">;
  runJob: RunJob;
  newId: () => string;
  now: () => number;
}

export interface CalledTool extends StartedRun {
  trigger: StoredTrigger;
  /** The tool's name, if the call used an alias. */
  renamedTo: string | undefined;
}

export interface RunRequest {
  tenant: string;
  flow: string;
  /** The node's id or slug. */
  trigger: string;
  input: unknown;
  /** Rejects an inactive trigger. Administrators may start one, to test it. */
  onlyActive: boolean;
}

export type ToolCalls = ReturnType<typeof createToolCalls>;

/** The maximum time that the validation of arguments waits in the queue of the workers. */
const MAX_WAIT_MS = 20_000;

/** A run whose input a client has sent. */
type ClientRun = ImmediateRun & { input: JsonObject };

export function createToolCalls({ store, runner, runJob, newId, now }: ToolCallsOptions) {
  const neverAborted = new AbortController().signal;
  const validatorFor = (tenant: string) =>
    createSchemaValidator((evaluation) =>
      runJob(evaluation, { tenant, signal: neverAborted, maxWaitMs: MAX_WAIT_MS }),
    );

  const runFrom = (trigger: StoredTrigger, input: JsonObject, cause: Cause): ClientRun => {
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

  /** Throws if the trigger's concurrency limit is reached and its policy is to skip. */
  const startRun = async (trigger: StoredTrigger, run: ClientRun, options?: StartOptions) => {
    const limit = laneFor(trigger, run);
    if (!limit) return runner.start(run, options);
    const started = await runner.startInLane({ ...run, limit }, options);
    if (started === "full") throw busy(trigger, limit);
    return started;
  };

  const validInput = async (trigger: StoredTrigger, input: unknown): Promise<JsonObject> => {
    const checked = await checkInput(trigger, input, validatorFor(trigger.tenant), now());
    if (checked.ok) return checked.input;
    throw new RequestError(
      "invalid",
      trigger.kind === "intent" ? "arguments" : "input",
      checked.errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
      checked.errors,
    );
  };

  return {
    /** The changes of a run; see `followRun`. */
    follow: runner.follow,

    /** Calls a tool by its name or an alias. `token` is the id of the caller's token. */
    async call(
      tenant: string,
      app: string,
      name: string,
      args: unknown,
      { token, ...options }: StartOptions & { token?: string } = {},
    ): Promise<CalledTool> {
      const tool = await store.findTool(tenant, app, name, now());
      if (!tool)
        throw new RequestError("not_found", "name", `There is no tool ${name.slice(0, 100)}.`);
      const { trigger, alias } = tool;
      if (!trigger.active)
        throw new RequestError("not_found", "name", `The tool ${name} is not active.`);
      const input = await validInput(trigger, args);
      const run = { ...runFrom(trigger, input, "tool"), token_id: token };
      const started = await startRun(trigger, run, options);
      return { ...started, trigger, renamedTo: (alias && trigger.tool_name) || undefined };
    },

    /** Starts a run from any trigger of a published flow. The caller can wait for the result. */
    async start(request: RunRequest): Promise<StartedRun> {
      const trigger = await requireTrigger(request);
      const run = runFrom(trigger, await validInput(trigger, request.input), "api");
      return startRun(trigger, run, { deferred: true });
    },

    /** Like `start`, but leaves the run to the next worker that claims it. */
    async queue(request: RunRequest): Promise<string> {
      const trigger = await requireTrigger(request);
      const run = runFrom(trigger, await validInput(trigger, request.input), "api");
      const limit = laneFor(trigger, run);
      const [id] = await runner.queue([{ ...run, due_at: run.at, limit }]);
      if (limit && id === null) throw busy(trigger, limit);
      return run.id;
    },

    /**
     * Returns why the output of a run does not match the `outputSchema` of its tool; undefined if it
     * matches. Without `knownTrigger`, reads the trigger of the run.
     */
    async resultError(
      run: Run & { output: Json },
      knownTrigger?: StoredTrigger,
    ): Promise<string | undefined> {
      const { tenant, flow_id, trigger_node, version, output } = run;
      const trigger = knownTrigger ?? (await store.getTrigger(tenant, flow_id, trigger_node));
      // The schema of another version does not apply to this run.
      const schema = trigger?.version === version ? trigger.config.outputSchema : undefined;
      if (!schema) return undefined;
      const [error] = await validatorFor(tenant)([{ schema: schema as JsonSchema, value: output }]);
      return error && `${writePath(error.keys)}: ${error.message}`;
    },
  };

  async function requireTrigger(request: RunRequest): Promise<StoredTrigger> {
    const { tenant, flow, trigger: name, onlyActive } = request;
    const result = await findTrigger(store, tenant, flow, name);
    switch (result.outcome) {
      case "no_flow":
        throw new RequestError("not_found", "flow", `There is no flow ${flow}.`);
      case "not_published":
        throw new RequestError(
          "invalid",
          "trigger",
          "The flow has not been published yet. Publish it, then start it.",
        );
      case "no_trigger":
        throw new RequestError(
          "invalid",
          "trigger",
          `The published flow has no trigger ${name.slice(0, 100)}.`,
        );
    }
    const { trigger, node } = result;
    if (onlyActive && !trigger.active)
      throw new RequestError("conflict", "trigger", `The trigger ${node.name} is not active.`);
    return trigger;
  }
}

/** The key of a concurrency limit is a path into the event's data, or into a tool's input. */
const laneFor = (trigger: StoredTrigger, { input }: ClientRun): LaneLimit | undefined =>
  limitOf(trigger, (key) => laneKey(trigger.kind === "event" ? (input.data ?? null) : input, key));

function busy({ kind }: StoredTrigger, { max }: LaneLimit): RequestError {
  const runs = max === 1 ? "1 run" : `${max} runs`;
  const noun = kind === "intent" ? "tool" : "trigger";
  return new RequestError(
    "busy",
    "trigger",
    `busy: ${runs} of this ${noun} ${max === 1 ? "is" : "are"} active; try again later.`,
  );
}
