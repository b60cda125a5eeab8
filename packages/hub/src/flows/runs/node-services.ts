/**
 * The services that nodes use: calls of flows and tools, events, models, the network, jobs.
 */
import type { ConnectionTool, NodeContext, ToolResult } from "@signalbox/rules/flows/node-type.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import type { Release } from "../../kernel/lib/fair-slots.ts";
import { type CallFlowOptions, createCallFlow } from "./call-flow.ts";
import { createEmit, type EmitOptions } from "./emit-event.ts";
import type { Run } from "./model.ts";
import type { ToolProgress } from "./tool-progress.ts";
import { type CallToolOptions, createToolServices } from "./tool-services.ts";

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

/** The attempt at a step that calls a tool. */
export interface ToolCaller extends Pick<Caller, "key"> {
  /** Aborted when the attempt ends, even if another worker continues the run. */
  signal: AbortSignal;
  /** Called right before the call is sent. If it throws, the call is not sent. */
  beforeSend?: () => void;
  /** Waits until a request to the origin may be sent; see `OutboundLimits`. */
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

export interface NodeServicesOptions
  extends EmitOptions,
    CallFlowOptions,
    CallToolOptions,
    Pick<NodeServices, "fetch" | "runJob"> {
  store: CallFlowOptions["store"] & CallToolOptions["store"];
  agent: Pick<NodeServices, "model" | "inbox" | "newNonce">;
}

export const createNodeServices = (options: NodeServicesOptions): NodeServices => ({
  emit: createEmit(options),
  callFlow: createCallFlow(options),
  ...createToolServices(options),
  fetch: options.fetch,
  runJob: options.runJob,
  ...options.agent,
});
