/**
 * What a draft has to go through before it is stored: it may be unfinished, but not broken in a way
 * that later edits would only make worse; and its tools get their names. Pure.
 */
import { findCycles, graphOf } from "@signalbox/rules/flows/graph.ts";
import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import { type FlowDraft, type FlowNode, flowDraftSchema } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { partsOf } from "@signalbox/rules/flows/subject.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { RequestError, validationError } from "../lib/request-error.ts";
import type { EditFlow, FlowGraph } from "../store/flow-store.ts";
import { nameTools } from "./tool-names.ts";

/**
 * `before` are the nodes as they were, `taken` the names of the app's other tools, `kept` those that
 * agents know the flow's own by.
 */
export function finishDraft(
  draft: unknown,
  before: readonly FlowNode[],
  taken: ReadonlySet<string>,
  registry: NodeRegistry,
  kept?: ReadonlyMap<string, string>,
): ReturnType<EditFlow> {
  const parsed = flowDraftSchema.safeParse(draft);
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  const { name, description, nodes, edges } = parsed.data satisfies FlowDraft;
  checkShape({ nodes, edges }, registry);
  const named = nameTools(nodes, before, taken, kept);
  checkDescriptions(named.nodes);
  return {
    name,
    description,
    graph: { nodes: named.nodes, edges },
    toolNames: named.toolNames,
  };
}

const NEVER: ReadonlySet<string> = new Set([
  "duplicate_id",
  "duplicate_slug",
  "duplicate_edge",
  "missing_node",
]);

function checkShape(graph: FlowGraph, registry: NodeRegistry): void {
  const [cycle] = findCycles(graphOf(graph));
  if (cycle) {
    const names = [...cycle, cycle[0] as string].map(
      (id) => graph.nodes.find((node) => node.id === id)?.name ?? id,
    );
    throw new RequestError("invalid", "edges", `Cycle: ${names.join(" → ")}`);
  }
  const found = validateFlow(graph, registry).errors.find(({ code }) => NEVER.has(code));
  if (found)
    throw new RequestError("invalid", found.nodeId ?? found.edgeId ?? "flow", found.message);
}

function checkDescriptions(nodes: readonly FlowNode[]): void {
  for (const node of nodes) {
    if (node.type !== "UserIntent") continue;
    const { toolDescription: text } = partsOf(node).config;
    if (typeof text !== "string" || !text.trim())
      throw new RequestError(
        "invalid",
        "toolDescription",
        `${node.name}: must not be empty: agents choose a tool by its description`,
      );
  }
}
