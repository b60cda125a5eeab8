/** The triggers of the published version, by node: their states and parameters. */

import type { Flow, TriggerState } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../api/client.ts";
import { useVersion } from "../canvas/use-published.ts";

export interface PublishedTrigger {
  state: TriggerState;
  /** Undefined until the published version is loaded. */
  parameters: JsonObject | undefined;
}

/** The live stream does not report changes of these states, so they are polled. */
const CONFIGURING_POLL_MS = 1_500;
const CONFIGURED_POLL_MS = 15_000;

/** Whether the hub has not yet configured the server as the trigger requires, so the state will change. */
const isConfiguring = ({ state, active }: TriggerState) =>
  state === "configuring" ||
  state === "failed" ||
  (state !== null && active !== (state === "active"));

export function useTriggerStates({ id, version }: Pick<Flow, "id" | "version">) {
  const query = useQuery({
    queryKey: ["flows", "triggers", id, version],
    queryFn: () => api.get("/api/flows/:flow/triggers", { params: { flow: id } }),
    refetchInterval: ({ state: { data } }) =>
      data?.items.some(isConfiguring) ? CONFIGURING_POLL_MS : CONFIGURED_POLL_MS,
    placeholderData: (before) => before,
  });
  const { data: graph } = useVersion({ id, version });
  const published = useMemo(() => {
    const parametersOf = (node: string) =>
      graph?.nodes.find((each) => each.id === node)?.parameters;
    return new Map<string, PublishedTrigger>(
      query.data?.items.map((state) => [
        state.node_id,
        { state, parameters: parametersOf(state.node_id) },
      ]),
    );
  }, [query.data, graph]);
  // If a refetch fails, the cards still show the last known state.
  return { ...query, error: query.data ? null : query.error, published };
}
