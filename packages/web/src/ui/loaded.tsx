/** Shows the data of a query. Before, it shows placeholders or the error. If a refetch fails, the data stays. */
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
  /** The number of placeholders. */
  rows?: number;
  /** The height of each placeholder in pixels. */
  height?: number;
  children: (data: Data) => ReactNode;
}) {
  if (data !== undefined) return children(data);
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return <SkeletonRows rows={rows} {...(height && { height })} />;
}
