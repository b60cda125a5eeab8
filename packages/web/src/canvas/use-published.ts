/** The graph of the published version, to compare the draft with. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, path } from "../api/client.ts";
import type { Flow } from "../api/types.ts";
import { type Diff, diffOf } from "./diff.ts";
import type { Graph } from "./graph.ts";

const NOTHING = { nodes: [], edges: [] };

export function useDiff(
  { id, version }: Pick<Flow, "id" | "version">,
  graph: Graph,
): Diff | undefined {
  const { data } = useQuery({
    queryKey: ["flow-version", id, version],
    queryFn: () =>
      api.get<Pick<Graph, "nodes" | "edges">>(path`/api/flows/${id}/versions/${String(version)}`),
    enabled: version !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const published = version === null ? NOTHING : data;
  return useMemo(() => published && diffOf(graph, published), [graph, published]);
}
