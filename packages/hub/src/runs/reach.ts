/** What nodes reach outside of their run: other flows, the log of events, the network. */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { sanitizeSummary } from "../ingest/sanitize-summary.ts";
import { utf8 } from "../lib/hmac.ts";
import { type ImmediateRun, type Run, TERMINAL_STATUSES } from "../store/run-store.ts";
import type { AppendRequest, AppendResult, Store } from "../store/store.ts";
import type { NodeReach } from "./course.ts";
import { CHAIN_HEADER, chainFrom, DEPTH_HEADER, OWN_SOURCE, RUN_HEADER } from "./event-input.ts";
import { checkInput, findTrigger } from "./published-trigger.ts";
import { outcomeOf, type Runner } from "./runner.ts";

export interface ReachOptions {
  store: Pick<
    Store,
    "getFlow" | "getVersion" | "listVersions" | "getTrigger" | "findRun" | "retryRun"
  >;
  /** Matches, and stores what matching causes together with the event. */
  append: (arrived: AppendRequest) => Promise<AppendResult>;
  /** Known only once the runner is there, which needs the reach first. */
  start: Runner["start"];
  fetch: NodeReach["fetch"];
  evaluate: NodeReach["evaluate"];
  newId: () => string;
  now: () => number;
  maxDepth: number;
}

export function createReach(options: ReachOptions): NodeReach {
  const { store, append, start, fetch, evaluate, newId, now, maxDepth } = options;

  const emit: NodeReach["emit"] = async (run, { type, data, id }, { key }) => {
    const event = newId();
    const text = (name: string) => (typeof data[name] === "string" ? data[name] : null);
    const appended = await append({
      tenant: run.tenant,
      skipQuota: false,
      events: [
        {
          id: event,
          source: OWN_SOURCE,
          source_id: run.flow_id,
          external_id: id === undefined ? key : `${key}:${id}`,
          type,
          received_at: now(),
          ...sanitizeSummary({ title: text("title"), url: text("url") }),
          content_type: "application/json",
          headers: {
            [DEPTH_HEADER]: String(run.depth),
            [RUN_HEADER]: run.id,
            [CHAIN_HEADER]: JSON.stringify(chainFrom(run)),
          },
          body: utf8(JSON.stringify(data)),
        },
      ],
    });
    if (appended.outcome === "over_quota")
      throw new Error(
        `${appended.pending} events are waiting to be processed, and the quota is ${appended.quota}.`,
      );
    return { id: appended.events[0]?.id ?? event };
  };

  const callFlow: NodeReach["callFlow"] = async (run, { flow, trigger, input }, asking) => {
    const { attempt, left } = asking;
    const key = `call:${asking.key}`;
    const former = await store.findRun(run.tenant, key);
    // What it has called before stays on its version, whatever is published by now.
    const child = former
      ? { ...former, key, at: former.created_at }
      : await childOf(run, flow, trigger, input, key);
    const untilEnded = async () => (await start(child, { signal: left })).ended;
    left.throwIfAborted();
    if (former && attempt > 1) {
      // The step is tried again: so is what it called, from where that has failed. One that the
      // attempt before has not waited for is cancelled, or just about to be.
      const isOpen = !TERMINAL_STATUSES.includes(former.status);
      const last = isOpen ? await untilEnded() : former;
      left.throwIfAborted(); // the next attempt is at it by now
      if (!isOpen || last.status === "cancelled")
        await store.retryRun(run.tenant, former.id, now());
    }
    return outputOf(await untilEnded());
  };

  async function childOf(
    run: Run,
    flow: string,
    wanted: string,
    given: JsonObject,
    key: string,
  ): Promise<ImmediateRun> {
    if (run.depth >= maxDepth)
      throw new Permanent(
        `${run.depth} runs and events led to this call: the chain was stopped, so that nothing goes round for ever. Break the circle, or raise SIGNALBOX_MAX_CHAIN.`,
        { code: "too_deep" },
      );
    const { trigger, input } = await callable(run.tenant, flow, wanted, given);
    const at = now();
    return {
      id: newId(),
      tenant: run.tenant,
      app: trigger.app,
      flow_id: flow,
      version: trigger.version,
      trigger_node: trigger.node_id,
      cause: "flow",
      key,
      parent_run: run.id,
      input,
      at,
      depth: run.depth + 1,
      chain: chainFrom(run),
    };
  }

  /** What can be called is what agents can call: published, switched on, and given what it wants. */
  async function callable(tenant: string, flow: string, wanted: string, given: JsonObject) {
    const refuse = (code: string, message: string, details: Json = null) =>
      new Permanent(message, { code, details });
    const found = await findTrigger(store, tenant, flow, wanted);
    switch (found.outcome) {
      case "no_flow":
        throw refuse("no_such_flow", `There is no flow ${flow}.`);
      case "not_published":
        throw refuse("not_published", `The flow ${found.flow} is not published: publish it first.`);
      case "no_trigger":
        throw refuse(
          "no_such_trigger",
          `The flow ${found.flow}, as it is published, has no trigger ${wanted}.`,
        );
    }
    const { trigger, node } = found;
    if (!trigger.active)
      throw refuse("inactive_trigger", `The trigger ${node.name} is switched off at present.`);
    const checked = checkInput(trigger, given);
    if (checked.ok) return { trigger, input: checked.input };
    const words = checked.errors.map(({ path, message }) => `${path} ${message}`).join("; ");
    throw refuse("invalid_input", `The call of ${node.name} is refused: ${words}.`, checked.errors);
  }

  const noConnections = () => {
    throw new Permanent("This hub has no connections to other MCP servers yet.", {
      code: "no_connection",
    });
  };
  return {
    emit,
    callFlow,
    fetch,
    evaluate,
    callTool: noConnections,
    listTools: noConnections,
  };
}

/** What has failed may be tried again; what somebody has cancelled is meant to be over. */
function outputOf(run: Run): Json {
  const outcome = outcomeOf(run);
  switch (outcome.outcome) {
    case "succeeded":
      return outcome.output;
    case "cancelled":
      throw new Permanent("The called run was cancelled.", { code: "cancelled" });
    case "failed":
      throw Object.assign(new Error(outcome.message), { code: outcome.code });
  }
}
