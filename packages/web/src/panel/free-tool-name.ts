/** Predicts the tool name that the hub will assign to a node. */

import type { Flow } from "@signalbox/contract";
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { freeNumber, numberedName, toolName } from "@signalbox/rules/flows/tool-name.ts";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import type { Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";

/** The hub does not suggest a higher number. */
const MAX_NUMBER = 100;

/** The names of the draft's other tools. The hub's suggestion considers only the tools of other flows. */
export const otherToolNames = ({ nodes }: Pick<Graph, "nodes">, id: string): ReadonlySet<string> =>
  new Set(
    nodes
      .filter((node) => node.id !== id && definitionOf(node)?.isTool)
      .map((node) => toolNameOf(node) ?? toolName(node.name)),
  );

/** Counts on from the hub's suggestion, which no other flow uses, to a name that this draft does not use. */
export function nextFreeName(
  derived: string,
  suggestion: string,
  others: ReadonlySet<string>,
): string {
  let number = 1;
  while (number < MAX_NUMBER && numberedName(derived, number) !== suggestion) number += 1;
  return numberedName(
    derived,
    freeNumber(derived, (name) => others.has(name), number),
  );
}

export function useFreeToolName(
  { app, id: flow }: Pick<Flow, "app" | "id">,
  graph: Pick<Graph, "nodes">,
  node: string,
  name: string,
): { derived: string; assigned: string } {
  const { data } = useQuery({
    queryKey: ["tool-name", app, flow, name],
    queryFn: ({ signal }) =>
      api.get("/api/apps/:app/tool-name", { params: { app }, query: { name, flow }, signal }),
    staleTime: 2_000,
  });
  const derived = toolName(name);
  const suggestion = data?.suggestion ?? derived;
  return { derived, assigned: nextFreeName(derived, suggestion, otherToolNames(graph, node)) };
}
