/** The triggers of the published version, by node: their states, and what they listen to. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, path } from "../api/client.ts";
import type { Flow, TriggerState } from "../api/types.ts";
import { useVersion } from "../canvas/use-published.ts";

export interface PublishedTrigger {
  state: TriggerState;
  /** Undefined until they are loaded. */
  parameters: JsonObject | undefined;
}

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
  const { data: graph } = useVersion({ id, version });
  const published = useMemo(() => {
    const parametersOf = (node: string) => graph?.nodes.find((one) => one.id === node)?.parameters;
    return new Map<string, PublishedTrigger>(
      query.data?.items.map((state) => [
        state.node_id,
        { state, parameters: parametersOf(state.node_id) },
      ]),
    );
  }, [query.data, graph]);
  // A card with its last known state is better than none.
  return { ...query, error: query.data ? null : query.error, published };
}
