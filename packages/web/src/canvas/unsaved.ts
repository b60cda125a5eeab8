/**
 * Edits that could not be saved are kept in the browser, so that a closed tab, an ended session or a
 * hub that is gone loses nothing. They are restored when the flow is opened again.
 */
import { flowDraftSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import type { Unsaved } from "./autosave.ts";
import { isEqual } from "./equal.ts";
import type { Graph } from "./graph.ts";
import { mergeGraphs } from "./merge.ts";

const keptSchema = z.object({ base: flowDraftSchema, graph: flowDraftSchema, at: z.number() });
export type Kept = z.output<typeof keptSchema>;

const keyOf = (flow: string) => `signalbox.unsaved.${flow}`;

export type UnsavedStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Undefined where the browser forbids it. */
export function browserStorage(): UnsavedStorage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

export function keepUnsaved(
  storage: UnsavedStorage | undefined,
  flow: string,
  unsaved: Unsaved | undefined,
  at: number,
): void {
  // An empty graph is never saved without a confirmation.
  if (!unsaved || unsaved.graph.nodes.length === 0) return;
  try {
    storage?.setItem(keyOf(flow), JSON.stringify({ ...unsaved, at }));
  } catch {
    // The storage is full: the page still asks before it closes.
  }
}

export const forgetUnsaved = (storage: UnsavedStorage | undefined, flow: string): void =>
  storage?.removeItem(keyOf(flow));

export function readUnsaved(storage: UnsavedStorage | undefined, flow: string): Kept | undefined {
  try {
    return keptSchema.safeParse(JSON.parse(storage?.getItem(keyOf(flow)) ?? "null")).data;
  } catch {
    return undefined;
  }
}

/** The flow with the kept edits on top; undefined if it has all of them already. */
export function restoreUnsaved(loaded: Graph, { base, graph }: Kept): Graph | undefined {
  const merged = mergeGraphs(base, graph, loaded, "mine").graph;
  return isEqual(merged, loaded) ? undefined : merged;
}
