/** The tool name that a node would get, as the hub assigns it. */
import { toolNameOf } from "@signalbox/rules/flows/tool-fields.ts";
import { freeNumber, numberedName, toolName } from "@signalbox/rules/flows/tool-name.ts";
import { useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";
import type { Flow, ToolNameView } from "../api/types.ts";
import type { Graph } from "../canvas/graph.ts";
import { definitionOf } from "../canvas/node-kinds.ts";

const MAX_TRIED = 100;

/** The names of the other tools of the draft. The hub counts them as free: they are of the same flow. */
export const otherToolNames = ({ nodes }: Pick<Graph, "nodes">, id: string): ReadonlySet<string> =>
  new Set(
    nodes
      .filter((node) => node.id !== id && definitionOf(node)?.isTool)
      .map((node) => toolNameOf(node) ?? toolName(node.name)),
  );

/** `free` is the name that no other flow has. */
export function nextFreeName(derived: string, free: string, others: ReadonlySet<string>): string {
  let nth = 1;
  while (nth < MAX_TRIED && numberedName(derived, nth) !== free) nth += 1;
  return numberedName(
    derived,
    freeNumber(derived, (name) => others.has(name), nth),
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
      api.get<ToolNameView>(path`/api/apps/${app}/tool-name`, { name, flow }, signal),
    staleTime: 2_000,
  });
  const derived = toolName(name);
  const free = data?.suggestion ?? derived;
  return { derived, assigned: nextFreeName(derived, free, otherToolNames(graph, node)) };
}
