/** Loads stored outputs for the nodes that read them. */
import { type ReferencedNodes, referencedNodes } from "@signalbox/rules/flows/referenced-nodes.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { Execution, FrameContext } from "./execution.ts";
import { incomingStates, type NodeState } from "./frame.ts";
import { type LoadedOutputs, NONE_LOADED, StoredOutput } from "./stored-output.ts";

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
