/** The values that a node can refer to: of the trigger, and of every node before it. */
import { ancestorsOf, graphOf } from "@signalbox/rules/flows/graph.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { RunWithSteps } from "../api/types.ts";
import type { Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import type { Pins } from "../canvas/pins.ts";

export interface Referable {
  /** `trigger`, or the slug of a node. */
  root: string;
  name: string;
  /** Undefined if no run has reached it yet. */
  value: Json | undefined;
}

export function referablesOf(
  graph: Graph,
  node: string,
  run: Pick<RunWithSteps, "input" | "steps"> | undefined,
  pins: Pins,
): Referable[] {
  const before = ancestorsOf(graphOf(graph), node);
  const outputs = new Map<string, Json>();
  for (const { node_id, item, status, output } of run?.steps ?? [])
    if (status === "done" && !item.includes("#")) outputs.set(node_id, output);
  const nodes = graph.nodes.filter(
    (each) => before.has(each.id) && definitionOf(each)?.kind !== "trigger",
  );
  return [
    { root: "trigger", name: "What started the run", value: run?.input },
    ...nodes.map(({ id, slug, name }) => ({
      root: slug,
      name,
      value: pins[id]?.output ?? outputs.get(id),
    })),
  ];
}

/** `{{ slug.path }}`; an empty path is the whole value. */
export const writeReference = (root: string, path: string): string =>
  `{{ ${root}${path === "" || path.startsWith("[") ? path : `.${path}`} }}`;
