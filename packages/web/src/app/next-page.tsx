/** Loads the next page of a list, and shows the progress at the end of the list. */
import { useEffect } from "react";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";

interface PagedQuery {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: unknown;
  fetchNextPage: () => Promise<unknown>;
}

/** Loads the next page when the end of the list is near. After an error, only the user can retry. */
export function useNextPage(
  { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage }: PagedQuery,
  isEndNear: boolean,
): void {
  const shouldFetch = isEndNear && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (shouldFetch) void fetchNextPage();
  }, [shouldFetch, fetchNextPage]);
}

export function NextPage({ list, height }: { list: PagedQuery; height?: number }) {
  if (list.isFetchingNextPage) return <SkeletonRows rows={3} {...(height && { height })} />;
  if (!list.isFetchNextPageError) return null;
  return <ErrorState error={list.error} onRetry={() => void list.fetchNextPage()} />;
}
