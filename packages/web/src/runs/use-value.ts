/** The values of runs and steps that are too large for the page: in parts, or as a whole. */
import type { Json } from "@signalbox/rules/json.ts";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";
import { nextRange, PART_BYTES, type ValuePart } from "./value-parts.ts";

/** The value of a step, or of the run itself. */
export interface ValueKey {
  run: string;
  /** 0: the run itself. */
  nth: number;
  field: "input" | "output";
}

export const valuePath = ({ run, nth, field }: ValueKey): string =>
  nth === 0
    ? path`/api/runs/${run}/${field}`
    : path`/api/runs/${run}/steps/${String(nth)}/${field}`;

/** Values of steps that have ended never change. */
const FIXED = { staleTime: Number.POSITIVE_INFINITY, gcTime: 60_000 };

export const useWholeValue = (key: ValueKey, isWanted: boolean) =>
  useQuery({
    queryKey: ["run-value", key.run, key.nth, key.field],
    queryFn: ({ signal }) => api.get<Json>(valuePath(key), undefined, signal),
    enabled: isWanted,
    ...FIXED,
  });

export const useValueParts = (key: ValueKey, isWanted: boolean) =>
  useInfiniteQuery({
    queryKey: ["run-value", key.run, key.nth, key.field, "parts"],
    queryFn: ({ pageParam, signal }): Promise<ValuePart> =>
      api.bytes(valuePath(key), pageParam, signal),
    initialPageParam: [0, PART_BYTES - 1] as readonly [number, number],
    getNextPageParam: (_, parts) => nextRange(parts),
    enabled: isWanted,
    ...FIXED,
  });
