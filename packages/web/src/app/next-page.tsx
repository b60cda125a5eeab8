/** The end of a list that loads its pages one after the other. */
import { useEffect } from "react";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";

interface Paged {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: unknown;
  fetchNextPage: () => Promise<unknown>;
}

/** Loads the next page when the end is near. After an error, only when the user asks for it. */
export function useNextPage(
  { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage }: Paged,
  isEndNear: boolean,
): void {
  const isWanted = isEndNear && hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (isWanted) void fetchNextPage();
  }, [isWanted, fetchNextPage]);
}

export function NextPage({ list, height }: { list: Paged; height?: number }) {
  if (list.isFetchingNextPage) return <SkeletonRows rows={3} {...(height && { height })} />;
  if (!list.isFetchNextPageError) return null;
  return <ErrorState error={list.error} onRetry={() => void list.fetchNextPage()} />;
}
