/**
 * How far a walk through a graph has come, and what may run next. A frame is one such walk: the
 * main one from the trigger, and one for each round of a loop. Pure.
 */
import { type Graph, reachableFrom, reachableThrough } from "@signalbox/rules/flows/graph.ts";
import type { FlowEdge } from "@signalbox/rules/flows/model.ts";
import { ITEM_PORT, type NodeInput } from "@signalbox/rules/flows/node-type.ts";
import type { Json } from "@signalbox/rules/json.ts";

export type NodeState = { status: "done"; port: string; output: Json } | { status: "skipped" };

/** Which nodes run from a trigger, and which of them belong to the rounds of a loop. */
export interface Layout {
  graph: Graph<FlowEdge>;
  main: ReadonlySet<string>;
  /** By the loop's node. */
  bodies: ReadonlyMap<string, ReadonlySet<string>>;
}

export function layOut(
  graph: Graph<FlowEdge>,
  trigger: string,
  isLoop: (id: string) => boolean,
): Layout {
  const reached = reachableFrom(graph, trigger);
  const whole = new Map<string, Set<string>>();
  for (const id of reached)
    if (isLoop(id)) {
      const body = reachableThrough(graph, id, ITEM_PORT);
      for (const { sourceHandle } of graph.outgoing(id))
        if (sourceHandle !== ITEM_PORT)
          for (const after of reachableThrough(graph, id, sourceHandle)) body.delete(after);
      whole.set(id, body);
    }
  const withoutInner = (nodes: ReadonlySet<string>, own?: string) => {
    const outside = new Set(nodes);
    for (const [loop, body] of whole)
      if (loop !== own && nodes.has(loop)) for (const id of body) outside.delete(id);
    return outside;
  };
  return {
    graph,
    main: withoutInner(reached),
    bodies: new Map([...whole].map(([loop, body]) => [loop, withoutInner(body, loop)])),
  };
}

export interface Frame {
  /** The rounds that lead here, such as `each_issue:2/each_label:0`; empty for the main one. */
  item: string;
  nodes: ReadonlySet<string>;
  states: Map<string, NodeState>;
  started: Set<string>;
  /** What a node outside has brought to this frame's nodes. */
  outside(id: string): NodeState | undefined;
}

/** The nodes that can start now; those that never will are recorded as skipped on the way. */
export function advance({ graph }: Layout, frame: Frame): { ready: string[]; skipped: string[] } {
  const ready: string[] = [];
  const skipped: string[] = [];
  for (let changed = true; changed; ) {
    changed = false;
    for (const id of frame.nodes) {
      if (frame.started.has(id) || frame.states.has(id)) continue;
      const verdict = lookAt(graph, frame, id);
      if (verdict === "wait") continue;
      if (verdict === "run") {
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

function lookAt(graph: Graph<FlowEdge>, frame: Frame, id: string): "run" | "skip" | "wait" {
  let arrived = false;
  for (const edge of graph.incoming(id)) {
    const state = stateOf(frame, edge.source);
    if (state === undefined) {
      if (frame.nodes.has(edge.source)) return "wait";
    } else if (isTaken(edge, state)) arrived = true;
  }
  return arrived ? "run" : "skip";
}

const stateOf = (frame: Frame, id: string): NodeState | undefined =>
  frame.nodes.has(id) ? frame.states.get(id) : frame.outside(id);

const isTaken = (edge: FlowEdge, state: NodeState): boolean =>
  state.status === "done" && state.port === edge.sourceHandle;

/** What has come to a node, along its edges in their order. */
export function inputsOf(
  { graph }: Layout,
  frame: Frame,
  id: string,
  slugOf: (id: string) => string,
): NodeInput[] {
  return graph.incoming(id).flatMap((edge) => {
    const state = stateOf(frame, edge.source);
    return state?.status === "done" && isTaken(edge, state)
      ? [{ slug: slugOf(edge.source), port: edge.targetHandle, output: state.output }]
      : [];
  });
}

/** What a frame has come to: the output of its last node, or of several, by slug. */
export function resultOf(
  { graph }: Layout,
  frame: Frame,
  slugOf: (id: string) => string,
  isResult: (id: string) => boolean,
): Json {
  const done = [...frame.nodes].flatMap((id) => {
    const state = frame.states.get(id);
    return state?.status === "done" ? [{ id, output: state.output }] : [];
  });
  const returned = done.find(({ id }) => isResult(id));
  if (returned) return returned.output;
  const ran = new Set(done.map(({ id }) => id));
  const last = done.filter(({ id }) => !graph.outgoing(id).some(({ target }) => ran.has(target)));
  const [only] = last;
  if (last.length <= 1) return only?.output ?? null;
  return Object.fromEntries(last.map(({ id, output }) => [slugOf(id), output]));
}
