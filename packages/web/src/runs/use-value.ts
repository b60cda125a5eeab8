/** Loads large values, of which runs and steps have only a preview: in chunks, or as a whole. */

import { pathWith } from "@signalbox/contract/client.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, readBytes } from "../api/client.ts";
import { CHUNK_BYTES, nextRange, type ValueChunk } from "./value-chunks.ts";

/** Identifies a value of a run or of one of its steps. */
export interface ValueKey {
  run: string;
  /** The number of the step; 0 for the run itself. */
  nth: number;
  field: "input" | "output";
}

export const valuePath = ({ run, nth, field }: ValueKey): string =>
  nth === 0
    ? pathWith(`/api/runs/:run/${field}`, { run })
    : pathWith(`/api/runs/:run/steps/:nth/${field}`, { run, nth: String(nth) });

export const readValue = ({ run, nth, field }: ValueKey, signal?: AbortSignal): Promise<Json> => {
  const options = signal && { signal };
  return nth === 0
    ? api.get(`/api/runs/:run/${field}`, { params: { run }, ...options })
    : api.get(`/api/runs/:run/steps/:nth/${field}`, {
        params: { run, nth: String(nth) },
        ...options,
      });
};

/** Values of steps that have ended never change. */
const NEVER_STALE = { staleTime: Number.POSITIVE_INFINITY, gcTime: 60_000 };

export const useWholeValue = (key: ValueKey, isEnabled: boolean) =>
  useQuery({
    queryKey: ["run-value", key.run, key.nth, key.field],
    queryFn: ({ signal }) => readValue(key, signal),
    enabled: isEnabled,
    ...NEVER_STALE,
  });

export const useValueChunks = (key: ValueKey, isEnabled: boolean) =>
  useInfiniteQuery({
    queryKey: ["run-value", key.run, key.nth, key.field, "chunks"],
    queryFn: ({ pageParam, signal }): Promise<ValueChunk> =>
      readBytes(valuePath(key), pageParam, signal),
    initialPageParam: [0, CHUNK_BYTES - 1] as readonly [number, number],
    getNextPageParam: (_, chunks) => nextRange(chunks),
    enabled: isEnabled,
    ...NEVER_STALE,
  });
