/**
 * The state of a run while it executes, and what its nodes can read: their parameters, the variables of
 * their templates, and stored outputs, which are loaded for the nodes that read them.
 */
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import {
  ERROR_PORT,
  type NodeDefinition,
  type NodeSettings,
  nodeSettings,
  type Scope,
} from "@signalbox/rules/flows/node-type.ts";
import { type ReferencedNodes, referencedNodes } from "@signalbox/rules/flows/referenced-nodes.ts";
import { referencesIn } from "@signalbox/rules/flows/references.ts";
import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { LargeJson, MaybeLarge, MixedJson, MixedObject } from "@signalbox/rules/large-json.ts";
import type { Release } from "../../kernel/lib/fair-slots.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Activity } from "./activity.ts";
import {
  type Frame,
  incomingStates,
  type Layout,
  type LoadedOutputs,
  NONE_LOADED,
  type NodeState,
  StoredOutput,
} from "./frame.ts";
import type { Effects } from "./leases.ts";
import type { Run, RunWait, StepRef } from "./model.ts";
import type { NodeProgress, NodeServices } from "./node-services.ts";
import type { EnterOptions } from "./run-waits.ts";
import type { StepLog } from "./step-log.ts";
import type { RunBudget } from "./step-values.ts";

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
  /** Waits until a request to the origin may be sent; see `RunWaits`. */
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

interface NodeParameters {
  config: JsonObject;
  settings: NodeSettings;
  /** The names of the secrets that the templates in `config` reference. */
  secretNames: readonly string[];
}

const cache = new WeakMap<FlowNode, NodeParameters>();

/** The parameters of a node. The result is cached, because every step needs it several times. */
export function parametersOf(node: FlowNode): NodeParameters {
  const cached = cache.get(node);
  if (cached) return cached;
  const { config, settings } = splitParameters(node);
  const names = referencesIn(config).flatMap(({ root, path }) =>
    root === "secrets" ? [String(path[0])] : [],
  );
  const parameters = {
    config,
    settings: nodeSettings.safeParse(settings).data ?? {},
    secretNames: [...new Set(names)],
  };
  cache.set(node, parameters);
  return parameters;
}

/**
 * The port on which a run continues if the node's result names no port; empty if the node has none.
 */
export function defaultPort({ node, definition }: Execution, id: string): string {
  const [first = ERROR_PORT] = definition(id)?.outPorts(parametersOf(node(id)).config) ?? [];
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

/**
 * Loads the stored outputs that the node can read: those of its inputs, and those that it references.
 * Returns a promise unless all of them are in `loaded`. Call it again with the resolved value until it
 * returns no promise: during the wait, more outputs may have been evicted from memory.
 */
export function loadForNode(
  execution: Execution,
  context: FrameContext,
  id: string,
  loaded: LoadedOutputs = NONE_LOADED,
): LoadedOutputs | Promise<LoadedOutputs> {
  const needed = new Set<StoredOutput>();
  const add = (state: NodeState | undefined) => {
    if (state?.status === "done" && state.output instanceof StoredOutput) needed.add(state.output);
  };
  for (const state of incomingStates(execution.layout, context.frame, id)) add(state);
  let referenced: ReferencedNodes | undefined;
  for (let current: FrameContext | undefined = context; current; current = current.outer)
    for (const [nodeId, state] of current.frame.states) {
      if (state.status !== "done" || !(state.output instanceof StoredOutput)) continue;
      referenced ??= referencedNodes(execution.node(id), execution.definition(id));
      if (referenced === "all" || referenced.has(execution.node(nodeId).slug))
        needed.add(state.output);
    }
  const hasAll = [...needed].every((output) => loaded.has(output));
  return hasAll ? loaded : loadOutputs(execution, needed, loaded);
}

export async function loadOutputs(
  { loadOutput }: Pick<Execution, "loadOutput">,
  needed: Iterable<StoredOutput>,
  loadedBefore: LoadedOutputs = NONE_LOADED,
): Promise<LoadedOutputs> {
  const loaded = new Map<StoredOutput, MixedJson>();
  for (const output of needed) {
    const cached = loadedBefore.get(output) ?? output.cachedValue();
    const value = cached ?? (await loadOutput(output.step));
    loaded.set(output, value);
  }
  return loaded;
}
