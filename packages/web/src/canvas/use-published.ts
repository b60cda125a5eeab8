/** Loads the graph of a version, and compares the draft with the published version. */

import type { Flow } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../api/client.ts";
import { type Diff, diffOf } from "./diff.ts";
import type { Graph } from "./graph.ts";

const EMPTY_GRAPH = { nodes: [], edges: [] };

export const useVersion = ({ id, version }: Pick<Flow, "id" | "version">, enabled = true) =>
  useQuery({
    queryKey: ["flow-version", id, version],
    queryFn: () =>
      api.get("/api/flows/:flow/versions/:version", {
        params: { flow: id, version: String(version) },
      }),
    enabled: enabled && version !== null,
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });

export function useDiff(flow: Pick<Flow, "id" | "version">, graph: Graph): Diff | undefined {
  const { version } = flow;
  const { data } = useVersion(flow);
  const published = version === null ? EMPTY_GRAPH : data;
  return useMemo(() => published && diffOf(graph, published), [graph, published]);
}
