/** What is published of a flow: its graph as it is, and where runs can start. Pure. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { validateFlow } from "@signalbox/rules/flows/validate.ts";
import { RequestError } from "../lib/request-error.ts";
import type { FlowGraph, Publication, StoredFlow } from "../store/flow-store.ts";
import { triggersOf } from "./triggers.ts";

/** How long a tool answers to its former name, unless told otherwise. */
export const ALIAS_MS = 7 * 24 * 3_600_000;

/** A fault where it cannot run yet. */
export function publicationOf(
  { graph }: Pick<StoredFlow, "graph">,
  registry: NodeRegistry,
  words: Omit<Publication, "graph" | "triggers">,
): Publication {
  checkFinished(graph, registry);
  return { graph, triggers: triggersOf(graph, registry), ...words };
}

function checkFinished(graph: FlowGraph, registry: NodeRegistry): void {
  const { errors } = validateFlow(graph, registry);
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
