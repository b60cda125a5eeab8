/** Loads the flow of a run: the version of the run, and the flow as it is now. */

import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { useVersion } from "../canvas/use-published.ts";
import type { RunFields } from "./run-data.ts";

export const useRunGraph = (
  { flow_id, version }: Pick<RunFields, "flow_id" | "version">,
  enabled: boolean,
) => useVersion({ id: flow_id, version }, enabled);

export const useFlow = (id: string, enabled: boolean) =>
  useQuery({
    queryKey: ["flows", id],
    enabled,
    queryFn: () => api.get("/api/flows/:flow", { params: { flow: id } }),
  });
