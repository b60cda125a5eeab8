/** Creates a published version of a flow: its graph and its trigger rows. Pure. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { preventsPublishing, validateFlow } from "@signalbox/rules/flows/validate.ts";
import { RequestError } from "../lib/request-error.ts";
import type { FlowGraph, Publication, StoredFlow } from "../store/flow-store.ts";
import type { FlowAnalysis, RequireAnalysis } from "./flow-analysis.ts";
import { triggersOf } from "./triggers.ts";

/** The default time for which the former name of a tool stays an alias. */
export const ALIAS_MS = 7 * 24 * 3_600_000;

/** Throws if the flow has errors, or uses a secret, a connection or a tool that does not exist. */
export function publicationOf(
  { tenant, graph }: Pick<StoredFlow, "tenant" | "graph">,
  registry: NodeRegistry,
  version: Omit<Publication, "graph" | "triggers">,
  requireAnalysis: RequireAnalysis,
): Publication {
  const analysis = requireAnalysis(tenant, graph);
  assertPublishable(graph, registry, analysis);
  return { graph, triggers: triggersOf(graph, registry, version.at, analysis), ...version };
}

function assertPublishable(graph: FlowGraph, registry: NodeRegistry, analysis: FlowAnalysis): void {
  const findings = validateFlow(graph, registry, analysis);
  const errors = [...findings.errors, ...findings.warnings.filter(preventsPublishing)];
  if (errors.length > 0)
    throw new RequestError(
      "invalid",
      "flow",
      `The flow cannot run yet: ${errors.map(({ message }) => message).join("; ")}`,
      errors.map(({ nodeId, edgeId, path, message }) => ({
        path: [nodeId ?? edgeId, path].filter(Boolean).join(".") || "flow",
        message,
      })),
    );
}
