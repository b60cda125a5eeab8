/** The runs of a flow whose data the panel can use. */

import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

const MAX_RUNS = 20;

/** The newest runs, including those of the draft. */
export const usePastRuns = (flow: string) =>
  useQuery({
    queryKey: ["runs", "of-flow", flow],
    queryFn: () => api.get("/api/runs", { query: { flow, limit: MAX_RUNS } }),
    staleTime: 5_000,
  });

/** A run with its steps. Nothing is loaded while `id` is undefined. */
export const usePastRun = (id: string | undefined) =>
  useQuery({
    queryKey: ["runs", "data", id],
    queryFn: () => api.get("/api/runs/:run", { params: { run: id ?? "" } }),
    enabled: id !== undefined,
    staleTime: 5_000,
  });
