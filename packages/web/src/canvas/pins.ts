/** Pinned outputs: a run of the draft uses them instead of executing the nodes. */
import { ancestorsOf, graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { Graph } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";

export interface Pin {
  output: Json;
  port?: string;
}
export type Pins = Readonly<Record<string, Pin>>;

type NodesAndEdges = Pick<Graph, "nodes" | "edges">;

const filterPins = (pins: Pins, isUsed: (id: string) => boolean): Pins =>
  Object.fromEntries(Object.entries(pins).filter(([id]) => isUsed(id)));

/** Returns the pins of the nodes that a run from the trigger reaches. */
export function pinsOfRun(graph: NodesAndEdges, pins: Pins, trigger: string): Pins {
  const reached = reachableFrom(graphOf(graph), trigger);
  return filterPins(pins, (id) => id !== trigger && reached.has(id));
}

/** Returns the pins of the nodes between the trigger and the tested node. */
export function pinsOfTest(graph: NodesAndEdges, pins: Pins, trigger: string, node: string): Pins {
  const ancestors = ancestorsOf(graphOf(graph), node);
  return filterPins(pinsOfRun(graph, pins, trigger), (id) => id !== node && ancestors.has(id));
}

/** Returns a trigger from which a run reaches the node: `preferred`, if possible. */
export function triggerOf(
  graph: NodesAndEdges,
  node: string,
  preferred?: string,
): string | undefined {
  const ancestors = ancestorsOf(graphOf(graph), node);
  const triggers = graph.nodes.filter(
    (each) => ancestors.has(each.id) && definitionOf(each)?.kind === "trigger",
  );
  return (triggers.find(({ id }) => id === preferred) ?? triggers[0])?.id;
}

/** Pins are stored in the browser, not in the flow. */
const keyOf = (flow: string) => `signalbox.pins.${flow}`;

export function readPins(flow: string): Pins {
  try {
    return JSON.parse(localStorage.getItem(keyOf(flow)) ?? "{}");
  } catch {
    return {};
  }
}

/** Returns false if the browser cannot store the pins, for example because its storage is full. */
export function savePins(flow: string, pins: Pins): boolean {
  try {
    localStorage.setItem(keyOf(flow), JSON.stringify(pins));
    return true;
  } catch {
    return false;
  }
}

/** Saves pins, and notifies the editor of this tab. */
export function restorePins(flow: string, pins: Pins): void {
  savePins(flow, pins);
  // Browsers send this event only to other tabs.
  dispatchEvent(new StorageEvent("storage", { key: keyOf(flow) }));
}

/** Calls the listener when another tab has changed the pins, or `restorePins` was called. */
export function watchPins(flow: string, listener: (pins: Pins) => void): () => void {
  const onStorage = ({ key }: StorageEvent) => key === keyOf(flow) && listener(readPins(flow));
  addEventListener("storage", onStorage);
  return () => removeEventListener("storage", onStorage);
}
