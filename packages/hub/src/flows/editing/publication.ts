/** Creates a published version of a flow: its graph and its trigger rows. Pure. */
import type { CalledFlow } from "@signalbox/rules/flows/check-calls.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import {
  preventsPublishing,
  type Validation,
  validateFlow,
} from "@signalbox/rules/flows/validate.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Publication, StoredFlow } from "../model.ts";
import type { RequireAnalysis } from "./flow-analysis.ts";
import { triggersOf } from "./triggers.ts";

/** The default time for which the former name of a tool stays an alias. */
export const ALIAS_MS = 7 * 24 * 3_600_000;

/**
 * Throws if the flow has errors, uses a secret, a connection or a tool that does not exist, or calls one
 * of the `calledFlows` with a wrong input.
 */
export function publicationOf(
  { tenant, id, graph }: Pick<StoredFlow, "tenant" | "id" | "graph">,
  registry: NodeRegistry,
  version: Omit<Publication, "graph" | "triggers">,
  requireAnalysis: RequireAnalysis,
  calledFlows: ReadonlyMap<string, CalledFlow>,
): Publication {
  const analysis = requireAnalysis(tenant, graph);
  const calls = { id, flows: calledFlows };
  assertPublishable(validateFlow(graph, registry, { ...analysis, calls }));
  return { graph, triggers: triggersOf(graph, registry, version.at, analysis), ...version };
}

function assertPublishable(findings: Validation): void {
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
