import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

/** The node types with the JSON Schemas of their parameters. They do not change while the hub runs. */
export const useNodeTypes = () =>
  useQuery({
    queryKey: ["node-types"],
    queryFn: () => api.get("/api/node-types"),
    staleTime: Number.POSITIVE_INFINITY,
  });
