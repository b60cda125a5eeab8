import type { EventView } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";

/** The hub truncates larger payloads. */
const MAX_PAYLOAD_BYTES = 8 * 1024 * 1024;

/** Loads an event with its payload. */
export const useEvent = (id: string | null) =>
  useQuery({
    queryKey: ["events", id],
    queryFn: ({ signal }) =>
      api.get<EventView>(path`/api/events/${id ?? ""}`, { max_bytes: MAX_PAYLOAD_BYTES }, signal),
    enabled: id !== null,
    // A payload never changes. The default would compare it deeply, which is slow if it is large.
    structuralSharing: (cached, loaded) =>
      reusePayload(cached as EventView | undefined, loaded as EventView),
  });

const reusePayload = (cached: EventView | undefined, loaded: EventView): EventView =>
  cached?.id === loaded.id ? { ...loaded, payload: cached.payload } : loaded;
