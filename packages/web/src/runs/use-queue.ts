import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

/** The live stream does not report waits. */
const REFRESH_MS = 3_000;

export const useQueue = (isEnabled = true) =>
  useQuery({
    queryKey: ["queue"],
    queryFn: ({ signal }) => api.get("/api/queue", { signal }),
    refetchInterval: REFRESH_MS,
    enabled: isEnabled,
  }).data;
