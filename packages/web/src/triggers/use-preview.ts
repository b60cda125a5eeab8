/** Loads which of the newest events a trigger would match, after every edit and when events arrive. */

import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { skipToken, useQuery } from "@tanstack/react-query";
import { api, type BodyAt } from "../api/client.ts";
import { useLive } from "../api/use-live.ts";
import { queryClient } from "../app/query-client.ts";
import { useThrottled } from "../app/use-throttled.ts";
import { textOf } from "./text-of.ts";
import { useDebounced } from "./use-debounced.ts";

const DEBOUNCE_MS = 350;
/** The hub reads up to 100 payloads for a preview, so previews are not refreshed more often. */
const REFRESH_MS = 3_000;
/** Not a topic of the live stream: changes on a topic refresh the queries whose key begins with it. */
export const PREVIEW_KEY = ["trigger-preview"];

/** The fields of a trigger that select events, without conditions that have no path yet. */
export function selectionOf({
  source,
  type,
  params,
  filter,
}: JsonObject): BodyAt<"post", "/api/triggers/preview"> | undefined {
  if (textOf(source).trim() === "") return undefined;
  const conditions = Object.entries(isObject(params) ? params : {}).filter(([path]) => path !== "");
  return {
    source: textOf(source),
    ...(textOf(type) && { type: textOf(type) }),
    params: Object.fromEntries(conditions),
    ...(textOf(filter).trim() && { filter: textOf(filter) }),
  };
}

export const refreshPreviews = () => queryClient.invalidateQueries({ queryKey: PREVIEW_KEY });

export function usePreview(parameters: JsonObject) {
  const selection = useDebounced(selectionOf(parameters), DEBOUNCE_MS);
  const query = useQuery({
    queryKey: [...PREVIEW_KEY, selection],
    queryFn: selection
      ? ({ signal }) => api.post("/api/triggers/preview", { body: selection, signal })
      : skipToken,
    // The previous result stays until the next one arrives, so that nothing flickers while typing.
    placeholderData: (before) => before,
  });
  const refresh = useThrottled(async () => {
    if (!document.hidden) await refreshPreviews();
  }, REFRESH_MS);
  useLive("events", ({ kind }) => {
    if (kind === "event") refresh();
  });
  return { ...query, hasSource: selection !== undefined };
}
