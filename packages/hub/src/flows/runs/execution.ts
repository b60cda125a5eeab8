/** The state of a run while it executes, and the variables that its templates can use. */
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import {
  type ConnectionTool,
  ERROR_PORT,
  type NodeContext,
  type NodeDefinition,
  type Scope,
  type ToolResult,
} from "@signalbox/rules/flows/node-type.ts";
import type { LargeJson, MaybeLarge, MixedJson, MixedObject } from "@signalbox/rules/large-json.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import type { Release } from "../../kernel/lib/fair-slots.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Activity } from "./activity.ts";
import type { Effects } from "./effects.ts";
import type { Frame, Layout } from "./frame.ts";
import type { Run, RunWait, StepRef } from "./model.ts";
import type { EnterOptions } from "./outbound-limits.ts";
import type { RunBudget } from "./run-budget.ts";
import { splitParameters } from "./split-parameters.ts";
import type { StepLog } from "./step-log.ts";
import { type LoadedOutputs, StoredOutput } from "./stored-output.ts";
import type { NodeProgress, ToolProgress } from "./tool-progress.ts";

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

export interface Execution {
  run: Run;
  layout: Layout;
  /** The flow must have a node with this id. */
  node(id: string): FlowNode;
  definition(id: string): NodeDefinition | undefined;
  /** The value of `{{ trigger }}`. */
  trigger: MixedObject | LargeJson;
  stepLog: StepLog;
  budget: RunBudget;
  /** Loads the stored output of a step. */
  loadOutput(step: StepRef): Promise<MaybeLarge>;
  activity: Activity;
  services: NodeServices;
  loadSecrets: (names: readonly string[]) => Promise<Record<string, string>>;
  /** Loads the values of all secrets that the flow references; undefined if it references none. */
  loadFlowSecrets: (() => Promise<readonly string[]>) | undefined;
  timers: Timers;
  stepTimeoutMs: number;
  /** Called when a tool that a node has called reports progress. */
  onProgress: (progress: NodeProgress) => void;
  /** Called with the size of a value that the run keeps in memory. */
  onMemory: (bytes: number) => void;
  /** Waits until a request to the origin may be sent; see `OutboundLimits`. */
  enterOrigin: (origin: string, options: EnterOptions) => Promise<Release>;
  /** Registers that the run waits; the returned function ends that. See `RunWaits`. */
  beginWait: (kind: RunWait["kind"], target: string) => () => void;
  /** Resolves when the run may continue after it has waited for a called run; see `RunLimit`. */
  readmit: () => Promise<void>;
  effects: Effects;
}

/** A frame with its local variables and the enclosing frame. */
export interface FrameContext {
  frame: Frame;
  /** `item` and `index` of a loop iteration. */
  locals: Pick<Scope, "item" | "index">;
  outer: FrameContext | undefined;
  /**
   * Aborted when no more nodes of the frame may start. The reason is `RUN_ENDED` or
   * `LEASE_RELEASED`.
   */
  signal: AbortSignal;
}

/**
 * The port on which a run continues if the node's result names no port; empty if the node has none.
 */
export function defaultPort({ node, definition }: Execution, id: string): string {
  const [first = ERROR_PORT] = definition(id)?.outPorts(splitParameters(node(id)).config) ?? [];
  return first === ERROR_PORT ? "" : first;
}

/** The variables of the templates in a frame, without the stored outputs that are not in `loaded`. */
export function templateScope(
  execution: Execution,
  { outer, frame, locals }: FrameContext,
  loaded: LoadedOutputs,
): Scope {
  const outerScope = outer
    ? templateScope(execution, outer, loaded)
    : { trigger: execution.trigger, nodes: {} };
  const nodes: Record<string, MixedJson> = outerScope.nodes;
  for (const [id, state] of frame.states)
    if (state.status === "done") {
      const { output } = state;
      const value = output instanceof StoredOutput ? loaded.get(output) : output;
      if (value !== undefined) nodes[execution.node(id).slug] = value;
    }
  return { ...outerScope, ...locals };
}
