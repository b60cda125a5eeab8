/** The values that a node can refer to: of the trigger, and of every node before it. */
import { ancestorsOf, graphOf } from "@signalbox/rules/flows/graph.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { RunWithSteps } from "../api/types.ts";
import type { Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";
import type { Pins } from "../canvas/pins.ts";
import { type Keys, toPath } from "../ui/json-tree/path.ts";
import type { ReferenceRequest } from "./panel-context.ts";

export interface Referable {
  /** `trigger`, or the slug of a node. */
  root: string;
  name: string;
  /** Undefined if no run has reached it yet. */
  value: Json | undefined;
  /** The step whose output it is; 0 for the input of the run. */
  nth?: number;
}

export function referablesOf(
  graph: Graph,
  node: string,
  run: Pick<RunWithSteps, "input" | "steps"> | undefined,
  pins: Pins,
): Referable[] {
  const before = ancestorsOf(graphOf(graph), node);
  const done = new Map<string, RunWithSteps["steps"][number]>();
  for (const step of run?.steps ?? [])
    if (step.status === "done" && !step.item.includes("#")) done.set(step.node_id, step);
  const nodes = graph.nodes.filter(
    (each) => before.has(each.id) && definitionOf(each)?.kind !== "trigger",
  );
  return [
    { root: "trigger", name: "What started the run", value: run?.input, nth: 0 },
    ...nodes.map(({ id, slug, name }): Referable => {
      const pin = pins[id];
      if (pin) return { root: slug, name, value: pin.output };
      const step = done.get(id);
      return { root: slug, name, value: step?.output, ...(step && { nth: step.nth }) };
    }),
  ];
}

type Language = ReferenceRequest["language"];

/** A template `{{ slug.path }}`, or the expression of the language. No keys: the whole value. */
export function writeReference(root: string, keys: Keys, language?: Language): string {
  const place = root === "trigger" ? root : `nodes.${root}`;
  if (language === "javascript") return `${place}${afterRoot(toPath(keys))}`;
  if (language === "jsonata") return `${place}${keys.map(inJsonata).join("")}`;
  return `{{ ${root}${afterRoot(toPath(keys))} }}`;
}

const afterRoot = (path: string) => (path === "" || path.startsWith("[") ? path : `.${path}`);

const inJsonata = (key: string | number): string => {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `.\`${key}\``;
};
