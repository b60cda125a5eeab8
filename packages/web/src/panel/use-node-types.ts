import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import type { NodeType } from "../api/types.ts";

/** The types of nodes with the schemas of their parameters. */
export const useNodeTypes = () =>
  useQuery({
    queryKey: ["node-types"],
    queryFn: () => api.get<{ items: NodeType[] }>("/api/node-types"),
    staleTime: Number.POSITIVE_INFINITY,
  });
