/** The list of runs. */
import { api } from "../api/client.ts";
import type { Page, RunItem } from "../api/types.ts";
import { PAGE_SIZE, usePagedList } from "../app/use-paged-list.ts";
import { type RunFilter, toRunQuery, writeRunFilter } from "./run-filter.ts";

export const useRuns = (filter: RunFilter) =>
  usePagedList<RunItem>({
    orderOf: ({ id }) => id,
    isSame: (a, b) => a.status === b.status && a.started_at === b.started_at,
    queryKey: ["run-list", writeRunFilter(filter)],
    fetchPage: (cursor, signal) =>
      api.get<Page<RunItem>>(
        "/api/runs",
        { ...toRunQuery(filter, Date.now()), limit: PAGE_SIZE, cursor },
        signal,
      ),
    topic: "changes",
    concerns: ({ kind, data }) =>
      kind === "change" && ["events", "runs"].includes((data as { topic: string }).topic),
    isShown: ({ finished_at }) => filter.view !== "active" || finished_at === null,
  });
