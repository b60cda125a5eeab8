/** The values that a node can reference: the input of the run, and the outputs of all nodes before it. */

import type { RunWithSteps } from "@signalbox/contract";
import { ancestorsOf, graphOf } from "@signalbox/rules/flows/graph.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import type { Pins } from "../canvas/pins.ts";
import { isPart } from "../runs/step-names.ts";
import { type Keys, toPath } from "../ui/json-tree/path.ts";
import type { ReferenceRequest } from "./panel-context.ts";

export interface Referable {
  /** The first name in a reference: `trigger`, or the slug of a node. */
  root: string;
  name: string;
  /** Undefined if the run has no output of the node. */
  value: Json | undefined;
  /** The number of the step that has this output; 0 for the input of the run. Missing for pinned outputs. */
  nth?: number;
}

export function referablesOf(
  graph: Graph,
  node: string,
  run: Pick<RunWithSteps, "input" | "steps"> | undefined,
  pins: Pins,
): Referable[] {
  const ancestors = ancestorsOf(graphOf(graph), node);
  const doneSteps = new Map<string, RunWithSteps["steps"][number]>();
  for (const step of run?.steps ?? [])
    if (step.status === "done" && !isPart(step)) doneSteps.set(step.node_id, step);
  const nodes = graph.nodes.filter(
    (each) => ancestors.has(each.id) && definitionOf(each)?.kind !== "trigger",
  );
  return [
    { root: "trigger", name: "Input of the run", value: run?.input, nth: 0 },
    ...nodes.map(({ id, slug, name }): Referable => {
      const pin = pins[id];
      if (pin) return { root: slug, name, value: pin.output };
      const step = doneSteps.get(id);
      return { root: slug, name, value: step?.output, ...(step && { nth: step.nth }) };
    }),
  ];
}

type Language = ReferenceRequest["language"];

/** Writes a template `{{ slug.path }}`, or an expression in `language`. No keys refer to the whole value. */
export function writeReference(root: string, keys: Keys, language?: Language): string {
  const variable = root === "trigger" ? root : `nodes.${root}`;
  if (language === "javascript") return `${variable}${pathSuffix(toPath(keys))}`;
  if (language === "jsonata") return `${variable}${keys.map(jsonataSuffix).join("")}`;
  return `{{ ${root}${pathSuffix(toPath(keys))} }}`;
}

const pathSuffix = (path: string) => (path === "" || path.startsWith("[") ? path : `.${path}`);

const jsonataSuffix = (key: string | number): string => {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `.\`${key}\``;
};
