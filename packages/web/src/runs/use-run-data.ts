/** Loads a run with its steps, page by page, and follows it until it has ended. */

import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { api } from "../api/client.ts";
import { useLive } from "../api/use-live.ts";
import {
  isEnded,
  type RunChange,
  type RunData,
  withChanges,
  withMoreSteps,
  withPage,
} from "./run-data.ts";

/** This many steps are loaded automatically. The user can load more. */
const AUTO_STEPS = 10_000;
/** Messages that arrive within this time cause one render. */
const BATCH_MS = 100;

/** The component must have the id as its `key`, because this hook does not reset its state for another id. */
export function useRunData(id: string) {
  const [data, setData] = useState<RunData>();
  const query = useQuery({
    queryKey: ["runs", id, "page"],
    queryFn: ({ signal }) => api.get("/api/runs/:run", { params: { run: id }, signal }),
  });
  useEffect(() => {
    const page = query.data;
    if (page) setData((before) => withPage(before, page));
  }, [query.data]);

  const apply = useCallback(
    (...changes: RunChange[]) => setData((before) => before && withChanges(before, changes)),
    [],
  );
  const pendingChanges = useRef<RunChange[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const isFollowed = data !== undefined && !isEnded(data.run);
  useLive(isFollowed ? `runs:${id}` : undefined, ({ kind, data }) => {
    if (kind !== "run_step") return;
    const { run, ...change } = data;
    if (run !== id) return;
    pendingChanges.current.push(change);
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      apply(...pendingChanges.current.splice(0));
    }, BATCH_MS);
  });

  const [limit, setLimit] = useState(AUTO_STEPS);
  const next = data?.next ?? null;
  const isPaused = next !== null && (data?.steps.length ?? 0) >= limit;
  const nextPage = useQuery({
    queryKey: ["run-steps", id, next],
    queryFn: ({ signal }) =>
      api.get("/api/runs/:run/steps", {
        params: { run: id },
        query: { cursor: next ?? undefined },
        signal,
      }),
    enabled: next !== null && !isPaused,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  useEffect(() => {
    const page = nextPage.data;
    if (page) setData((before) => (before?.next === next ? withMoreSteps(before, page) : before));
  }, [nextPage.data, next]);

  return {
    data,
    error: data ? null : query.error,
    refetch: query.refetch,
    /** Applies the run that a request has returned. */
    apply,
    /** The steps that are not loaded yet. */
    remaining: {
      isLoading: nextPage.isFetching,
      isPaused,
      error: nextPage.error,
      load: () => {
        if (nextPage.error) void nextPage.refetch();
        else setLimit((before) => before + AUTO_STEPS);
      },
    },
  };
}
export type LoadedRun = ReturnType<typeof useRunData>;
