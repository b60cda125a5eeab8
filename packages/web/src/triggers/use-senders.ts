/** Loads the sources of Event triggers: connections, endpoints and kinds of senders. */

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../api/client.ts";
import type { Senders } from "./senders.ts";

const EMPTY: never[] = [];

export function useSenders() {
  const connections = useQuery({
    queryKey: ["connections", "all"],
    queryFn: () => api.get("/api/connections", { query: { limit: 100 } }),
  });
  const endpoints = useQuery({
    queryKey: ["sources"],
    queryFn: () => api.get("/api/sources"),
  });
  const kinds = useQuery({
    queryKey: ["source-kinds"],
    queryFn: () => api.get("/api/source-kinds"),
  });
  const queries = [connections, endpoints, kinds];
  const senders = useMemo<Senders>(
    () => ({
      connections: connections.data?.items ?? EMPTY,
      endpoints: endpoints.data?.items ?? EMPTY,
      kinds: kinds.data?.items ?? EMPTY,
    }),
    [connections.data, endpoints.data, kinds.data],
  );
  return {
    senders,
    isPending: queries.some(({ isPending }) => isPending),
    // If a refetch fails, the loaded data stays.
    error: queries.find(({ data, error }) => data === undefined && error)?.error,
    refetch: () => {
      for (const query of queries) if (query.error) void query.refetch();
    },
  };
}

/** The triggers that the server of a connection offers, with the schemas of their params. */
export const useOfferedTriggers = (connection: string | undefined) =>
  useQuery({
    queryKey: ["connections", "triggers", connection],
    queryFn: () =>
      api.get("/api/connections/:connection/triggers", {
        params: { connection: connection ?? "" },
      }),
    enabled: connection !== undefined,
  });
