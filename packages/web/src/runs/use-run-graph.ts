/** The graph of the version that a run executes. Versions never change. */
import { useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";
import type { Flow } from "../api/types.ts";
import type { Graph } from "../canvas/graph.ts";
import type { RunView } from "./run-data.ts";

export const useRunGraph = ({ flow_id, version }: Pick<RunView, "flow_id" | "version">) =>
  useQuery({
    queryKey: ["flow-version", flow_id, version],
    queryFn: () =>
      api.get<Pick<Graph, "nodes" | "edges">>(
        path`/api/flows/${flow_id}/versions/${String(version)}`,
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const useFlow = (id: string) =>
  useQuery({
    queryKey: ["flows", id],
    queryFn: () => api.get<Flow>(path`/api/flows/${id}`),
  });
