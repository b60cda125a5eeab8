/** Shows the progress of a run as stations on a track, and updates it until the run ends. */

import type { RunItem } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api } from "../api/client.ts";
import { useLive } from "../api/use-live.ts";
import { queryClient } from "../app/query-client.ts";
import { useIsAdmin } from "../app/session.ts";
import { signalOfRun } from "../runs/signal-of-run.ts";
import { Track } from "../ui/track.tsx";
import { stationsOf } from "./stations.ts";

export function RunLine({ run }: { run: RunItem }) {
  const queryKey = ["runs", run.id, "line"];
  const steps = useQuery({
    queryKey,
    queryFn: () => api.get("/api/runs/:run", { params: { run: run.id } }),
    placeholderData: (before) => before,
  });
  const isAdmin = useIsAdmin();
  const flow = useQuery({
    queryKey: ["flows", run.flow_id],
    // Members may not read flows. The stations then have the ids of the nodes instead of their names.
    enabled: isAdmin,
    queryFn: () => api.get("/api/flows/:flow", { params: { flow: run.flow_id } }),
  });
  const isEnded = run.finished_at !== null;
  useLive(isEnded ? undefined : `runs:${run.id}`, ({ kind }) => {
    if (kind === "run_step") void queryClient.invalidateQueries({ queryKey });
  });
  if (!steps.data) return null;
  const label = `Run of ${run.flow_name ?? "the flow"}: ${signalOfRun(steps.data.status).label}`;
  return (
    <Link href={`/runs/${run.id}`} className="mb-3 block flex-none rounded-tile" title={label}>
      <Track stations={stationsOf(steps.data, flow.data)} label={label} />
    </Link>
  );
}
