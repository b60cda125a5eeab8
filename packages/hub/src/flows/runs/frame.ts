/**
 * Tracks the states of nodes while a graph is walked, and decides which nodes can start next. A frame
 * is one walk: the main frame starts at the trigger, and each iteration of a loop has its own frame.
 */
import { type Graph, reachableFrom, reachableThrough } from "@signalbox/rules/flows/graph.ts";
import type { FlowEdge } from "@signalbox/rules/flows/model.ts";
import { ITEM_PORT, type NodeInput } from "@signalbox/rules/flows/node-type.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { StepRef, WrittenStep } from "./model.ts";
import type { StepLog } from "./step-log.ts";

export type NodeState =
  | {
      status: "done";
      port: string;
      /** An instance of `StoredOutput` if only the store has the value. */
      output: MixedJson | StoredOutput;
    }
  | { status: "skipped" };

/**
 * A large output is not kept in memory once it is stored: the frame keeps only its key. It is loaded for
 * the nodes that read it. See docs/decisions/0020-outputs-by-reference.md.
 */
export class StoredOutput {
  readonly step: StepRef;
  readonly #value: WeakRef<object> | undefined;

  /** `cachedValue` returns `value` until it is garbage-collected. */
  constructor({ node_id, item, attempt }: StepRef, value?: MixedJson) {
    this.step = { node_id, item, attempt };
    if (typeof value === "object" && value !== null) this.#value = new WeakRef(value);
  }

  cachedValue(): MixedJson | undefined {
    return this.#value?.deref() as MixedJson | undefined;
  }
}

/** The values of the stored outputs that were loaded for one node. */
export type LoadedOutputs = ReadonlyMap<StoredOutput, MixedJson>;

export const NONE_LOADED: LoadedOutputs = new Map();

/** The nodes that are reachable from a trigger, divided into the main frame and the loop bodies. */
export interface Layout {
  graph: Graph<FlowEdge>;
  main: ReadonlySet<string>;
  /** The nodes in the body of each loop, by the id of the loop node. */
  bodies: ReadonlyMap<string, ReadonlySet<string>>;
}

export function createLayout(
  graph: Graph<FlowEdge>,
  trigger: string,
  isLoop: (id: string) => boolean,
): Layout {
  const reachable = reachableFrom(graph, trigger);
  const loops = new Map<string, Set<string>>();
  for (const id of reachable)
    if (isLoop(id)) {
      const body = reachableThrough(graph, id, ITEM_PORT);
      // Nodes that are reachable through another port run after the loop.
      for (const { sourceHandle } of graph.outgoing(id))
        if (sourceHandle !== ITEM_PORT)
          for (const after of reachableThrough(graph, id, sourceHandle)) body.delete(after);
      loops.set(id, body);
    }
  const withoutInnerBodies = (nodes: ReadonlySet<string>, except?: string) => {
    const outside = new Set(nodes);
    for (const [loop, body] of loops)
      if (loop !== except && nodes.has(loop)) for (const id of body) outside.delete(id);
    return outside;
  };
  return {
    graph,
    main: withoutInnerBodies(reachable),
    bodies: new Map([...loops].map(([loop, body]) => [loop, withoutInnerBodies(body, loop)])),
  };
}

export interface Frame {
  /** The iteration of the loop, such as `each_issue:2/each_label:0`; empty for the main frame. */
  iteration: string;
  nodes: ReadonlySet<string>;
  states: Map<string, NodeState>;
  /** The states that nodes get when they are reached, instead of being executed. */
  pins?: ReadonlyMap<string, NodeState>;
  started: Set<string>;
  /** The state of a node in the enclosing frame. */
  outerState(id: string): NodeState | undefined;
}

/**
 * Creates a frame, with the states of the nodes that had ended when the run was claimed. In a test of a
 * draft, these include the pinned nodes of the main frame. A pinned node in a loop has one record, without
 * an iteration. It applies to each iteration that reaches the node.
 */
export function openFrame(
  { stepLog }: { stepLog: Pick<StepLog, "recordsAtClaim"> },
  iteration: string,
  nodes: ReadonlySet<string>,
  outerState: Frame["outerState"] = () => undefined,
): Frame {
  const findStates = (item: string) =>
    new Map(
      [...nodes].flatMap((id) => {
        const state = endState(stepLog.recordsAtClaim(item, id));
        return state ? [[id, state]] : [];
      }),
    );
  return {
    iteration,
    nodes,
    states: findStates(iteration),
    ...(iteration !== "" && { pins: findStates("") }),
    started: new Set(),
    outerState,
  };
}

function endState(records: readonly WrittenStep[]): NodeState | undefined {
  const last = records.findLast(({ status }) => status === "done" || status === "skipped");
  if (last?.status === "skipped") return { status: "skipped" };
  return (
    last && {
      status: "done",
      port: last.port ?? "",
      output: last.omitted ? new StoredOutput(last) : last.output,
    }
  );
}

/** Returns the nodes that can start now. Marks nodes that no branch reaches as skipped. */
export function advance({ graph }: Layout, frame: Frame): { ready: string[]; skipped: string[] } {
  const ready: string[] = [];
  const skipped: string[] = [];
  for (let changed = true; changed; ) {
    changed = false;
    for (const id of frame.nodes) {
      if (frame.started.has(id) || frame.states.has(id)) continue;
      const decision = decide(graph, frame, id);
      if (decision === "wait") continue;
      const pin = frame.pins?.get(id);
      if (decision === "run" && pin) {
        frame.states.set(id, pin);
        changed = true;
      } else if (decision === "run") {
        frame.started.add(id);
        ready.push(id);
      } else {
        frame.states.set(id, { status: "skipped" });
        skipped.push(id);
        changed = true;
      }
    }
  }
  return { ready, skipped };
}

function decide(graph: Graph<FlowEdge>, frame: Frame, id: string): "run" | "skip" | "wait" {
  let isReached = false;
  for (const edge of graph.incoming(id)) {
    const state = stateOf(frame, edge.source);
    if (state === undefined) {
      // A frame waits only for its own nodes.
      if (frame.nodes.has(edge.source)) return "wait";
    } else if (isFollowed(edge, state)) isReached = true;
  }
  return isReached ? "run" : "skip";
}

const stateOf = (frame: Frame, id: string): NodeState | undefined =>
  frame.nodes.has(id) ? frame.states.get(id) : frame.outerState(id);

const isFollowed = (edge: FlowEdge, state: NodeState): boolean =>
  state.status === "done" && state.port === edge.sourceHandle;

/** The states of the nodes that have an edge to this node. */
export const incomingStates = (
  { graph }: Layout,
  frame: Frame,
  id: string,
): (NodeState | undefined)[] => graph.incoming(id).map(({ source }) => stateOf(frame, source));

const outputValue = (output: MixedJson | StoredOutput, loaded: LoadedOutputs): MixedJson =>
  output instanceof StoredOutput ? (loaded.get(output) ?? null) : output;

/** The outputs that reach a node, in the order of its edges. */
export function nodeInputs(
  { graph }: Layout,
  frame: Frame,
  id: string,
  slugOf: (id: string) => string,
  loaded: LoadedOutputs = NONE_LOADED,
): NodeInput[] {
  return graph.incoming(id).flatMap((edge) => {
    const state = stateOf(frame, edge.source);
    return state?.status === "done" && isFollowed(edge, state)
      ? [
          {
            slug: slugOf(edge.source),
            port: edge.targetHandle,
            output: outputValue(state.output, loaded),
          },
        ]
      : [];
  });
}

/**
 * The result node if it has run; otherwise the last nodes: those without a successor that has run.
 */
export function resultNodes(
  { graph }: Layout,
  frame: Frame,
  isResult: (id: string) => boolean,
): { id: string; output: MixedJson | StoredOutput }[] {
  const doneNodes = [...frame.nodes].flatMap((id) => {
    const state = frame.states.get(id);
    return state?.status === "done" ? [{ id, output: state.output }] : [];
  });
  const resultNode = doneNodes.find(({ id }) => isResult(id));
  if (resultNode) return [resultNode];
  const doneIds = new Set(doneNodes.map(({ id }) => id));
  return doneNodes.filter(
    ({ id }) => !graph.outgoing(id).some(({ target }) => doneIds.has(target)),
  );
}

/** The output of the only result. If there are several, an object of their outputs by slug. */
export function frameResult(
  results: ReturnType<typeof resultNodes>,
  slugOf: (id: string) => string,
  loaded: LoadedOutputs = NONE_LOADED,
): MixedJson {
  const [first] = results;
  if (results.length <= 1) return first ? outputValue(first.output, loaded) : null;
  return Object.fromEntries(
    results.map(({ id, output }) => [slugOf(id), outputValue(output, loaded)]),
  );
}
