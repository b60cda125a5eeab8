/** Which of the newest events a trigger would match, as it is typed and as events arrive. */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import type { TriggerPreview } from "../api/types.ts";
import { useLive } from "../api/use-live.ts";
import { queryClient } from "../app/query-client.ts";
import { useThrottled } from "../app/use-throttled.ts";
import { textOf } from "./text-of.ts";
import { useDebounced } from "./use-debounced.ts";

const TYPING_MS = 350;
/** A preview reads up to 100 payloads. */
const REFRESH_MS = 3_000;
/** Not a topic of changes: a preview is refreshed less often than other queries. */
export const PREVIEWS = ["trigger-preview"];

/** The conditions of a trigger. A row without a path is not one yet. */
export function selectionOf({ source, type, params, filter }: JsonObject): JsonObject | undefined {
  if (textOf(source).trim() === "") return undefined;
  const given = Object.entries(isObject(params) ? params : {}).filter(([path]) => path !== "");
  return {
    source: textOf(source),
    ...(textOf(type) && { type: textOf(type) }),
    params: Object.fromEntries(given),
    ...(textOf(filter).trim() && { filter: textOf(filter) }),
  };
}

export const refreshPreviews = () => queryClient.invalidateQueries({ queryKey: PREVIEWS });

export function usePreview(parameters: JsonObject) {
  const selection = useDebounced(selectionOf(parameters), TYPING_MS);
  const query = useQuery({
    queryKey: [...PREVIEWS, selection],
    queryFn: ({ signal }) =>
      api.post<TriggerPreview>("/api/triggers/preview", selection, { signal }),
    enabled: selection !== undefined,
    // The former answer stays until the next one is there, so that nothing flickers while typing.
    placeholderData: (before) => before,
  });
  const refresh = useThrottled(async () => {
    if (!document.hidden) await refreshPreviews();
  }, REFRESH_MS);
  useLive("events", ({ kind }) => {
    if (kind === "event") refresh();
  });
  return { ...query, isChosen: selection !== undefined };
}
