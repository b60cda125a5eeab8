import { useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";
import type { EventView } from "../api/types.ts";

/** Larger payloads are cut by the hub. */
const MAX_PAYLOAD = 8 * 1024 * 1024;

/** An event with its payload. */
export const useEvent = (id: string | null) =>
  useQuery({
    queryKey: ["events", id],
    queryFn: ({ signal }) =>
      api.get<EventView>(path`/api/events/${id ?? ""}`, { max_bytes: MAX_PAYLOAD }, signal),
    enabled: id !== null,
    // A payload never changes, and comparing a large one takes long.
    structuralSharing: (before, now) =>
      keepPayload(before as EventView | undefined, now as EventView),
  });

const keepPayload = (before: EventView | undefined, now: EventView): EventView =>
  before?.id === now.id ? { ...now, payload: before.payload } : now;
