import type { EventView } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";

/** The hub truncates larger payloads. */
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/** Loads an event with its payload. */
export const useEvent = (id: string | null) =>
  useQuery({
    queryKey: ["events", id],
    queryFn: async ({ queryKey, signal }) => {
      const loaded = await api.get("/api/events/:event", {
        params: { event: id ?? "" },
        query: { max_bytes: MAX_PAYLOAD_BYTES },
        signal,
      });
      const cached = queryClient.getQueryData<EventView>(queryKey);
      return cached ? { ...loaded, payload: cached.payload } : loaded;
    },
    enabled: id !== null,
    // A payload never changes. The default would compare it deeply, which is slow if it is large.
    structuralSharing: false,
  });
