/** Loads stored outputs for the nodes that read them. */
import { type ReferencedNodes, referencedNodes } from "@signalbox/rules/flows/referenced-nodes.ts";
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { Execution, FrameContext } from "./execution.ts";
import { incomingStates, type NodeState } from "./frame.ts";
import { type LoadedOutputs, NONE_LOADED, StoredOutput } from "./stored-output.ts";

/** Loads the stored outputs that the node can read: those of its inputs, and those that it names. */
export function loadForNode(
  execution: Execution,
  context: FrameContext,
  id: string,
): LoadedOutputs | Promise<LoadedOutputs> {
  const needed = new Set<StoredOutput>();
  const add = (state: NodeState | undefined) => {
    if (state?.status === "done" && state.output instanceof StoredOutput) needed.add(state.output);
  };
  for (const state of incomingStates(execution.layout, context.frame, id)) add(state);
  let names: ReferencedNodes | undefined;
  for (let at: FrameContext | undefined = context; at; at = at.outer)
    for (const [other, state] of at.frame.states) {
      if (state.status !== "done" || !(state.output instanceof StoredOutput)) continue;
      names ??= referencedNodes(execution.node(id), execution.definition(id));
      if (names === "all" || names.has(execution.node(other).slug)) needed.add(state.output);
    }
  return needed.size === 0 ? NONE_LOADED : loadOutputs(execution, needed);
}

export async function loadOutputs(
  { loadOutput }: Pick<Execution, "loadOutput">,
  needed: Iterable<StoredOutput>,
): Promise<LoadedOutputs> {
  const loaded = new Map<StoredOutput, MixedJson>();
  for (const output of needed) {
    const value = output.cached() ?? (await loadOutput(output.step));
    loaded.set(output, value);
  }
  return loaded;
}
