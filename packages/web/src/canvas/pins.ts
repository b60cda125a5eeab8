/** Outputs that are pinned for runs of the draft, and which of them a run may use. */
import { ancestorsOf, graphOf, reachableFrom } from "@signalbox/rules/flows/graph.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { Graph } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";

export interface Pin {
  output: Json;
  port?: string;
}
export type Pins = Readonly<Record<string, Pin>>;

type Parts = Pick<Graph, "nodes" | "edges">;

const keep = (pins: Pins, isUsed: (id: string) => boolean): Pins =>
  Object.fromEntries(Object.entries(pins).filter(([id]) => isUsed(id)));

/** The pins of the nodes that a run from the trigger reaches. */
export function pinsOfRun(graph: Parts, pins: Pins, trigger: string): Pins {
  const reached = reachableFrom(graphOf(graph), trigger);
  return keep(pins, (id) => id !== trigger && reached.has(id));
}

/** The pins of the nodes between the trigger and the node that is tested. */
export function pinsOfTest(graph: Parts, pins: Pins, trigger: string, node: string): Pins {
  const before = ancestorsOf(graphOf(graph), node);
  return keep(pinsOfRun(graph, pins, trigger), (id) => id !== node && before.has(id));
}

/** A trigger that reaches the node: the preferred one, if it does. */
export function triggerOf(graph: Parts, node: string, preferred?: string): string | undefined {
  const before = ancestorsOf(graphOf(graph), node);
  const triggers = graph.nodes.filter(
    (each) => before.has(each.id) && definitionOf(each)?.kind === "trigger",
  );
  return (triggers.find(({ id }) => id === preferred) ?? triggers[0])?.id;
}

/** They belong to the browser, not to the flow. */
const keyOf = (flow: string) => `signalbox.pins.${flow}`;

export function readPins(flow: string): Pins {
  try {
    return JSON.parse(localStorage.getItem(keyOf(flow)) ?? "{}");
  } catch {
    return {};
  }
}

/** False if the browser has no space left for them. */
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

/** Calls the listener when another tab has changed the pins, or they were restored. */
export function watchPins(flow: string, listener: (pins: Pins) => void): () => void {
  const onStorage = ({ key }: StorageEvent) => key === keyOf(flow) && listener(readPins(flow));
  addEventListener("storage", onStorage);
  return () => removeEventListener("storage", onStorage);
}
