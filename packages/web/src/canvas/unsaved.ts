/**
 * Edits that could not be saved are stored in the browser, so that they are not lost if the tab is
 * closed, the session ends or the hub does not respond. They are restored when the flow is opened again.
 */
import { flowDraftSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import type { UnsavedEdits } from "./autosave.ts";
import { isEqual } from "./equal.ts";
import type { Graph } from "./graph.ts";
import { mergeGraphs } from "./merge.ts";

const storedEditsSchema = z.object({
  base: flowDraftSchema,
  graph: flowDraftSchema,
  at: z.number(),
});
export type StoredEdits = z.output<typeof storedEditsSchema>;

const keyOf = (flow: string) => `signalbox.unsaved.${flow}`;

export type UnsavedStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

/** Returns undefined if the browser does not allow access to its storage. */
export function browserStorage(): UnsavedStorage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

export function storeUnsaved(
  storage: UnsavedStorage | undefined,
  flow: string,
  unsaved: UnsavedEdits | undefined,
  at: number,
): void {
  // An empty graph needs a confirmation, so it must not be restored without one.
  if (!unsaved || unsaved.graph.nodes.length === 0) return;
  try {
    storage?.setItem(keyOf(flow), JSON.stringify({ ...unsaved, at }));
  } catch {
    // The storage is full. The browser still asks before the page is closed.
  }
}

export const deleteUnsaved = (storage: UnsavedStorage | undefined, flow: string): void =>
  storage?.removeItem(keyOf(flow));

export function readUnsaved(
  storage: UnsavedStorage | undefined,
  flow: string,
): StoredEdits | undefined {
  try {
    return storedEditsSchema.safeParse(JSON.parse(storage?.getItem(keyOf(flow)) ?? "null")).data;
  } catch {
    return undefined;
  }
}

/** Merges the stored edits into the loaded flow. Returns undefined if the flow already contains them. */
export function restoreUnsaved(loaded: Graph, { base, graph }: StoredEdits): Graph | undefined {
  const merged = mergeGraphs(base, graph, loaded, "mine").graph;
  return isEqual(merged, loaded) ? undefined : merged;
}
