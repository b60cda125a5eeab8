/**
 * Prepares a draft for the store: names its tools, and rejects drafts with problems that later edits
 * could not repair, such as cycles and duplicate ids, or with secrets in plain text. An unfinished draft
 * is accepted. Pure.
 */
import { missingEnds } from "@signalbox/rules/flows/check-graph.ts";
import type { Finding } from "@signalbox/rules/flows/finding.ts";
import { findCycles, graphOf } from "@signalbox/rules/flows/graph.ts";
import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import { type FlowDraft, type FlowNode, flowDraftSchema } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { toolDescriptionOf } from "@signalbox/rules/flows/tool-fields.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { RequestError, validationError } from "../../kernel/lib/request-error.ts";
import type { EditFlow, FlowGraph } from "../model.ts";
import { nameTools } from "./name-tools.ts";

/**
 * `before` are the nodes before the edit, `takenNames` the names of the app's other tools, `callable` the
 * names by which agents can call this flow's tools.
 */
export function finishDraft(
  draft: unknown,
  before: readonly FlowNode[],
  takenNames: ReadonlySet<string>,
  registry: NodeRegistry,
  callable?: ReadonlyMap<string, string>,
): ReturnType<EditFlow> {
  const parsed = flowDraftSchema.safeParse(draft);
  if (!parsed.success) throw validationError(issuesOf(parsed.error));
  const { name, description, nodes, edges } = parsed.data satisfies FlowDraft;
  checkShape({ nodes, edges }, registry);
  const named = nameTools(nodes, before, registry, takenNames, callable);
  checkDescriptions(named.nodes, registry);
  return {
    name,
    description,
    graph: { nodes: named.nodes, edges },
    toolNames: named.toolNames,
  };
}

const NEVER_STORED: ReadonlySet<string> = new Set([
  "duplicate_id",
  "duplicate_slug",
  "duplicate_edge",
  "missing_node",
  "plain_secret",
]);

function checkShape(graph: FlowGraph, registry: NodeRegistry): void {
  const [cycle] = findCycles(graphOf(graph));
  if (cycle) {
    const names = [...cycle, cycle[0] as string].map(
      (id) => graph.nodes.find((node) => node.id === id)?.name ?? id,
    );
    throw new RequestError("invalid", "edges", `Cycle: ${names.join(" → ")}`);
  }
  const error = validateFlow(graph, registry).errors.find(({ code }) => NEVER_STORED.has(code));
  if (error) throw new RequestError("invalid", fieldOf(error, graph), error.message);
}

/** An edge is named by its index, because the caller may not know its id, which the hub can generate. */
function fieldOf({ nodeId, path, edgeId, code }: Finding, { nodes, edges }: FlowGraph): string {
  if (nodeId !== undefined) return path === undefined ? nodeId : `${nodeId}.${path}`;
  const index = edges.findIndex(({ id }) => id === edgeId);
  const edge = edges[index];
  if (!edge) return "flow";
  const [missing] = code === "missing_node" ? missingEnds(edge, nodes) : [];
  return `edges[${index}]${missing ? `.${missing.end}` : ""}`;
}

function checkDescriptions(nodes: readonly FlowNode[], registry: NodeRegistry): void {
  for (const node of nodes) {
    if (registry.get(node.type)?.isTool && !toolDescriptionOf(node).trim())
      throw new RequestError(
        "invalid",
        "toolDescription",
        `${node.name}: must not be empty: agents choose a tool by its description`,
      );
  }
}
