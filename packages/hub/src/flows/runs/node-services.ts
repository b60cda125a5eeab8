/**
 * The services that nodes use: calls of flows and tools, events, models, the network, jobs.
 */

import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { ConnectionTool, NodeContext, ToolResult } from "@signalbox/rules/flows/node-type.ts";
import {
  createSchemaValidator,
  type ValidateSchemas,
} from "@signalbox/rules/flows/validate-schema.ts";
import type { Json } from "@signalbox/rules/json.ts";
import {
  LargeJson,
  type MaybeLarge,
  type MixedObject,
  writeJson,
} from "@signalbox/rules/large-json.ts";
import { ConnectionError, type ConnectionErrorCode } from "../../connections/connection-error.ts";
import type { Connections, ToolAnswer } from "../../connections/connections.ts";
import type { Connection } from "../../connections/model.ts";
import { createToolLists, toolsOf } from "../../connections/tool-lists.ts";
import type { AppendRequest, AppendResult } from "../../events/model.ts";
import { sanitizeSummary } from "../../events/sources/summary.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { Release } from "../../kernel/lib/fair-slots.ts";
import type { Store } from "../../store.ts";
import {
  CHAIN_HEADER,
  chainFrom,
  DEPTH_HEADER,
  OWN_SOURCE,
  RUN_HEADER,
} from "../matching/event-input.ts";
import { type ImmediateRun, type Run, TERMINAL_STATUSES, toRunResult } from "./model.ts";
import { checkInput, findOnlyTool, findTrigger } from "./published-trigger.ts";
import { outboundOrigin } from "./run-waits.ts";

type Context = NodeContext<never>;

/** The step that calls a service. */
export interface Caller {
  /** The idempotency key of the step. */
  key: string;
  attempt: number;
  /**
   * Aborted when the step no longer waits for the result. It is not aborted when another worker
   * continues the run, since that worker waits for the result again.
   */
  abandoned: AbortSignal;
}

export interface ToolProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** The progress of a tool that a node of the run has called. */
export interface NodeProgress extends ToolProgress {
  node_id: string;
}

/** The attempt at a step that calls a tool. */
export interface ToolCaller extends Pick<Caller, "key"> {
  /** Aborted when the attempt ends, even if another worker continues the run. */
  signal: AbortSignal;
  /** Called right before the call is sent. If it throws, the call is not sent. */
  beforeSend?: () => void;
  /** Waits until a request to the origin may be sent; see `RunWaits`. */
  enterOrigin(origin: string): Promise<Release>;
  onProgress(progress: ToolProgress): void;
}

/** The tools of the inbox, for the tenant of a run. */
export interface InboxTools {
  listTools(): Promise<ConnectionTool[]>;
  callTool(
    run: Pick<Run, "id" | "tenant">,
    call: Parameters<Context["inbox"]["callTool"]>[0],
    signal: AbortSignal,
  ): Promise<ToolResult>;
}

export interface NodeServices extends Pick<Context, "fetch" | "newNonce"> {
  model(
    ...call: [...Parameters<Context["model"]>, beforeSend?: () => void]
  ): ReturnType<Context["model"]>;
  runJob: RunJob;
  inbox: InboxTools;
  emit(
    run: Run,
    event: Parameters<Context["emit"]>[0],
    caller: Caller,
  ): ReturnType<Context["emit"]>;
  callFlow(
    run: Run,
    call: Parameters<Context["callFlow"]>[0],
    caller: Caller,
  ): ReturnType<Context["callFlow"]>;
  callTool(
    run: Run,
    call: Parameters<Context["callTool"]>[0],
    caller: ToolCaller,
  ): ReturnType<Context["callTool"]>;
  listTools(
    run: Run,
    connection: string,
    caller: Pick<ToolCaller, "signal">,
  ): ReturnType<Context["listTools"]>;
}

export interface NodeServicesOptions extends Pick<NodeServices, "fetch" | "runJob"> {
  store: Pick<
    Store,
    | "getFlow"
    | "getVersion"
    | "listVersions"
    | "getTrigger"
    | "findRun"
    | "retryRun"
    | "getConnection"
    | "getOffers"
  >;
  /** Matches events against triggers, and stores them with the runs that they start. */
  append: (request: AppendRequest) => Promise<AppendResult>;
  /** Executes a called run; see `Runner.start`. */
  start(run: ImmediateRun, options: { signal: AbortSignal }): Promise<{ ended: Promise<Run> }>;
  connections: Pick<Connections, "callTool" | "loadOffers">;
  agent: Pick<NodeServices, "model" | "inbox" | "newNonce">;
  newId: () => string;
  now: () => number;
  /** How many runs and events may cause each other. */
  maxChain: number;
}

export const createNodeServices = (options: NodeServicesOptions): NodeServices => ({
  emit: createEmit(options),
  callFlow: createCallFlow(options),
  ...createToolServices(options),
  fetch: options.fetch,
  runJob: options.runJob,
  ...options.agent,
});

type Call = Parameters<NodeServices["callFlow"]>[1];

/** Calls a flow from a run, and waits for the called run. A later attempt waits for the same run. */
function createCallFlow(options: NodeServicesOptions): NodeServices["callFlow"] {
  const { store, start, now } = options;
  return async (run, call, caller) => {
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
  { store, runJob, newId, now, maxChain }: NodeServicesOptions,
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
  store: NodeServicesOptions["store"],
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

/** Clients could read the payload of a larger event only in parts. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** Stores an event that a run emits. The idempotency key of the step prevents duplicates. */
const createEmit =
  ({ append, newId, now }: NodeServicesOptions): NodeServices["emit"] =>
  async (run, { type, data, id }, { key }) => {
    const eventId = newId();
    const members: MixedObject = data instanceof LargeJson ? {} : data;
    const textMember = (name: string) => {
      const { [name]: member } = members;
      return typeof member === "string" ? member : null;
    };
    const body = utf8(writeJson(data));
    if (body.byteLength > MAX_EVENT_BYTES)
      throw new Permanent(
        `The event has ${body.byteLength} bytes of JSON, but may have at most ${MAX_EVENT_BYTES}. Emit less, or a reference to the data.`,
        { code: "event_too_large" },
      );
    const appended = await append({
      tenant: run.tenant,
      skipQuota: false,
      events: [
        {
          id: eventId,
          source: OWN_SOURCE,
          source_id: run.flow_id,
          external_id: id === undefined ? key : `${key}:${id}`,
          type,
          received_at: now(),
          ...sanitizeSummary({ title: textMember("title"), url: textMember("url") }),
          content_type: "application/json",
          headers: {
            [DEPTH_HEADER]: String(run.depth),
            [RUN_HEADER]: run.id,
            [CHAIN_HEADER]: JSON.stringify(chainFrom(run)),
          },
          body,
        },
      ],
    });
    if (appended.outcome === "deleted") throw new Permanent("The tenant was deleted.");
    if (appended.outcome === "over_quota")
      throw new Error(
        `${appended.pending} events are pending, and the quota is ${appended.quota}. Process some of them, or raise the quota.`,
      );
    return { id: appended.events[0]?.id ?? eventId };
  };

/** In most cases, the time limit of the step ends the call earlier. */
const MAX_CALL_MS = 24 * 3_600_000;
const LIST_TIMEOUT_MS = 20_000;

/** Errors that a retry cannot resolve, or after which the tool has probably had its effect. */
const PERMANENT = new Set<ConnectionErrorCode>([
  "address_refused",
  "invalid_response",
  "invalid_target",
  "not_allowed",
  "too_large",
]);

/** Calls tools of connections for a step, and lists them. */
export function createToolServices({
  store,
  connections,
}: {
  store: Pick<Store, "getConnection" | "getOffers">;
  connections: NodeServicesOptions["connections"];
}): Pick<NodeServices, "callTool" | "listTools"> {
  const lists = createToolLists(store);
  const noConnection = (id: string) =>
    new Permanent(`There is no connection ${id}. Add it, or choose another connection.`, {
      code: "no_such_connection",
    });

  return {
    async listTools({ tenant }, id, { signal }) {
      const toolList = await lists.find(tenant, id);
      if (!toolList) throw noConnection(id);
      const load = () =>
        connections
          .loadOffers(toolList.connection, { signal, timeoutMs: LIST_TIMEOUT_MS })
          .then(toolsOf, rethrowError);
      return [...(toolList.tools ?? (await load())).values()];
    },

    async callTool({ tenant }, call, caller) {
      const { connection: id, tool, arguments: args, id: callId, timeoutMs = MAX_CALL_MS } = call;
      const connection = await store.getConnection(tenant, id);
      if (!connection) throw noConnection(id);
      const leave = await caller.enterOrigin(originOf(connection));
      const answer = await connections
        .callTool(
          connection,
          { tool, arguments: args },
          {
            signal: caller.signal,
            beforeSend: caller.beforeSend,
            timeoutMs,
            idempotencyKey: callId === undefined ? caller.key : `${caller.key}:${callId}`,
            onProgress: caller.onProgress,
          },
        )
        .catch(rethrowError)
        .finally(leave);
      return toToolResult(answer);
    },
  };
}

const originOf = ({ name, target }: Connection): string =>
  "url" in target ? outboundOrigin(target.url) : `the command of ${name}`;

/** Throws `Permanent` if a retry cannot help. */
function rethrowError(error: unknown): never {
  if (error instanceof ConnectionError && PERMANENT.has(error.code))
    throw new Permanent(error.message, { code: error.code, cause: error });
  throw error;
}

const toToolResult = ({ isError, content, structuredContent }: ToolAnswer): ToolResult => ({
  isError,
  content: [...content],
  structured: structuredContent ?? null,
  text: content
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n"),
});

/** The log is limited, because a tool may report progress many times a second. */
const MAX_LINES = 100;
const MAX_MESSAGE_CHARACTERS = 500;

/** Adds each report of a tool's progress to the log of the step, and passes it to the caller of the run. */
export function createToolProgress(
  maskText: (text: string) => string,
  log: (line: LogLine) => void,
  report: (progress: ToolProgress) => void,
): (progress: ToolProgress) => void {
  let lines = 0;
  return ({ progress, total, message }) => {
    const text =
      message === undefined ? undefined : maskText(message).slice(0, MAX_MESSAGE_CHARACTERS);
    const counts = { progress, ...(total !== undefined && { total }) };
    report(text === undefined ? counts : { ...counts, message: text });
    lines += 1;
    if (lines > MAX_LINES) return;
    const line =
      lines === MAX_LINES
        ? "Further progress is not logged."
        : describeProgress({ ...counts, ...(text !== undefined && { message: text }) });
    log({ level: "info", text: line });
  };
}

/** Such as `3 of 10: reading files`. */
export function describeProgress({ progress, total, message }: ToolProgress): string {
  const count = total === undefined ? String(progress) : `${progress} of ${total}`;
  return message ? `${count}: ${message}` : count;
}
