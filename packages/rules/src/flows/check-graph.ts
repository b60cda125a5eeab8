/** Checks ids, slugs, tool names, edges and ports, and that the graph has no cycle. */
import { type ErrorCode, type Finding, nodeFinding } from "./finding.ts";
import { findCycles } from "./graph.ts";
import type { FlowEdge, FlowNode } from "./model.ts";
import type { ResolvedFlow } from "./resolved-flow.ts";
import { splitParameters } from "./split-parameters.ts";
import { toolNameOf } from "./tool-fields.ts";

type Findings = Finding<ErrorCode>[];

export const checkGraph = (resolved: ResolvedFlow): Findings => [
  ...checkNames(resolved),
  ...checkDuplicateEdges(resolved),
  ...resolved.flow.edges.flatMap((edge) => checkEdge(resolved, edge)),
  ...checkCycles(resolved),
];

function checkNames(resolved: ResolvedFlow): Findings {
  const { nodes, edges } = resolved.flow;
  const findings: Findings = [];
  const ids = new Set<string>();
  const slugs = new Map<string, string>();
  const toolNames = new Map<string, string>();
  for (const node of nodes) {
    if (ids.has(node.id))
      findings.push(nodeFinding("duplicate_id", node, `another node has the same id ${node.id}`));
    ids.add(node.id);
    const sameSlug = slugs.get(node.slug);
    if (sameSlug !== undefined)
      findings.push(
        nodeFinding("duplicate_slug", node, `${sameSlug} has the same slug ${node.slug}`),
      );
    slugs.set(node.slug, node.name);
    const toolName = resolved.definition(node)?.isTool ? toolNameOf(node) : undefined;
    if (toolName === undefined) continue;
    const sameTool = toolNames.get(toolName);
    if (sameTool !== undefined)
      findings.push(
        nodeFinding(
          "duplicate_tool_name",
          node,
          `${sameTool} has the same tool name ${toolName}`,
          "toolName",
        ),
      );
    toolNames.set(toolName, node.name);
  }
  const edgeIds = new Set<string>();
  for (const { id } of edges) {
    if (edgeIds.has(id))
      findings.push({ code: "duplicate_id", edgeId: id, message: `Two edges have the id ${id}.` });
    edgeIds.add(id);
  }
  return findings;
}

/** A second edge between the same ports would pass the same output twice. */
function checkDuplicateEdges(resolved: ResolvedFlow): Findings {
  const seen = new Set<string>();
  return resolved.flow.edges.flatMap((edge): Findings => {
    const key = edgeKey(edge);
    if (!seen.has(key)) {
      seen.add(key);
      return [];
    }
    const [from, to] = [edge.source, edge.target].map((id) => resolved.node(id)?.name ?? id);
    const message = `${from} is connected to ${to} twice, from ${edge.sourceHandle} to ${edge.targetHandle}: remove one of the two edges.`;
    return [{ code: "duplicate_edge", edgeId: edge.id, message }];
  });
}

/** Returns the same key for edges between the same ports. */
export const edgeKey = ({ source, sourceHandle, target, targetHandle }: FlowEdge): string =>
  JSON.stringify([source, sourceHandle, target, targetHandle]);

/** Returns the ends of an edge whose node does not exist, each with a message. */
export function missingEnds(
  { source, target }: Pick<FlowEdge, "source" | "target">,
  nodes: readonly FlowNode[],
): { end: "source" | "target"; message: string }[] {
  return Object.entries({ source, target }).flatMap(([end, nodeId]) => {
    if (nodes.some(({ id }) => id === nodeId)) return [];
    const intended = nodes.find(({ slug, name }) => slug === nodeId || name === nodeId);
    const fix = intended
      ? `The node with this ${intended.slug === nodeId ? "slug" : "name"} has the id ${quote(intended.id)}`
      : "Add the node, or remove the edge";
    const message = `The edge from ${quote(source)} to ${quote(target)} has no ${end}: there is no node with the id ${quote(nodeId)}. ${fix}.`;
    return [{ end: end as "source" | "target", message }];
  });
}

const quote = (text: string): string => JSON.stringify(text);

function checkEdge(resolved: ResolvedFlow, edge: FlowEdge): Findings {
  const findings: Findings = [];
  const onEdge = (code: ErrorCode, message: string, nodeId?: string) =>
    findings.push({ code, message, edgeId: edge.id, ...(nodeId ? { nodeId } : {}) });
  const source = resolved.node(edge.source);
  const target = resolved.node(edge.target);
  if (!source || !target)
    for (const { message } of missingEnds(edge, resolved.flow.nodes))
      onEdge("missing_node", message);

  const out = source && resolved.definition(source)?.outPorts(splitParameters(source).config);
  if (source && out && !out.includes(edge.sourceHandle))
    onEdge(
      "missing_port",
      `${source.name}: has no output port ${edge.sourceHandle}; it has ${listPorts(out)}.`,
      source.id,
    );
  const definition = target && resolved.definition(target);
  if (!target || !definition) return findings;
  if (definition.kind === "trigger")
    onEdge(
      "trigger_with_input",
      `${target.name}: is a trigger, which cannot have incoming edges.`,
      target.id,
    );
  else if (!definition.inPorts.includes(edge.targetHandle))
    onEdge(
      "missing_port",
      `${target.name}: has no input port ${edge.targetHandle}; it has ${listPorts(definition.inPorts)}.`,
      target.id,
    );
  return findings;
}

const listPorts = (ports: readonly string[]): string => ports.join(", ") || "none";

function checkCycles(resolved: ResolvedFlow): Findings {
  return findCycles(resolved.graph).map((cycle) => {
    const names = [...cycle, cycle[0] as string].map((id) => resolved.node(id)?.name ?? id);
    return { code: "cycle", message: `Cycle: ${names.join(" → ")}`, nodeId: cycle[0] as string };
  });
}
