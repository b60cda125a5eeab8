/** A published version of a flow: its graph and its trigger rows. Pure. */
import type { FindAnalysis } from "@signalbox/rules/flows/analyze-expression.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { RequestError } from "../lib/request-error.ts";
import type { FlowGraph, Publication, StoredFlow } from "../store/flow-store.ts";
import type { RequireAnalyses } from "./expression-analysis.ts";
import { triggersOf } from "./triggers.ts";

/** How long the former name of a tool stays an alias, by default. */
export const ALIAS_MS = 7 * 24 * 3_600_000;

/** Throws if the flow has errors. */
export function publicationOf(
  { graph }: Pick<StoredFlow, "graph">,
  registry: NodeRegistry,
  version: Omit<Publication, "graph" | "triggers">,
  requireAnalyses: RequireAnalyses,
): Publication {
  checkFinished(graph, registry, requireAnalyses(graph));
  return { graph, triggers: triggersOf(graph, registry), ...version };
}

function checkFinished(graph: FlowGraph, registry: NodeRegistry, findAnalysis: FindAnalysis): void {
  const { errors } = validateFlow(graph, registry, undefined, findAnalysis);
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
