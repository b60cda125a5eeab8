/** What a query has loaded; before that placeholders, or the failure. A failed refetch keeps the data. */
import type { ReactNode } from "react";
import { ErrorState } from "./error-state.tsx";
import { SkeletonRows } from "./skeleton.tsx";

export interface Loadable<Data> {
  data: Data | undefined;
  error: unknown;
  refetch: () => Promise<unknown>;
}

export function Loaded<Data>({
  query: { data, error, refetch },
  rows = 3,
  height,
  children,
}: {
  query: Loadable<Data>;
  /** How many placeholders there are, and how high each is. */
  rows?: number;
  height?: number;
  children: (data: Data) => ReactNode;
}) {
  if (data !== undefined) return children(data);
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return <SkeletonRows rows={rows} {...(height && { height })} />;
}
