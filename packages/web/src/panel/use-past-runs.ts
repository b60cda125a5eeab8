/** The runs of a flow whose data the panel can use. */

import type { Page, RunItem, RunWithSteps } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";

const MAX_RUNS = 20;

/** The newest runs, including those of the draft. */
export const usePastRuns = (flow: string) =>
  useQuery({
    queryKey: ["runs", "of-flow", flow],
    queryFn: () => api.get<Page<RunItem>>("/api/runs", { flow, limit: MAX_RUNS }),
    staleTime: 5_000,
  });

/** A run with its steps. Nothing is loaded while `id` is undefined. */
export const usePastRun = (id: string | undefined) =>
  useQuery({
    queryKey: ["runs", "data", id],
    queryFn: () => api.get<RunWithSteps>(path`/api/runs/${id ?? ""}`),
    enabled: id !== undefined,
    staleTime: 5_000,
  });
