/** The states of the triggers of the published version, by node. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, path } from "../api/client.ts";
import type { Flow, TriggerState } from "../api/types.ts";

const SETTLING_MS = 1_500;
const SETTLED_MS = 15_000;

/** The hub configures the server in the background, and announces no change of it. */
const isSettling = ({ state, active }: TriggerState) =>
  state === "configuring" ||
  state === "failed" ||
  (state !== null && active !== (state === "active"));

export function useTriggerStates({ id, version }: Pick<Flow, "id" | "version">) {
  const query = useQuery({
    queryKey: ["flows", "triggers", id, version],
    queryFn: () => api.get<{ items: TriggerState[] }>(path`/api/flows/${id}/triggers`),
    refetchInterval: ({ state: { data } }) =>
      data?.items.some(isSettling) ? SETTLING_MS : SETTLED_MS,
    placeholderData: (before) => before,
  });
  const states = useMemo(
    () => new Map(query.data?.items.map((state) => [state.node_id, state] as const)),
    [query.data],
  );
  return { ...query, states };
}
