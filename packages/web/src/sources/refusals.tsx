/** Webhooks that were rejected, by source and reason. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { isStatus } from "../api/problem.ts";
import type { Page, Refusal } from "../api/types.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { ago, count } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { SourceMark } from "../ui/source-mark.tsx";

export function Refusals() {
  const { data, error, refetch } = useQuery({
    queryKey: ["refusals"],
    queryFn: () => api.get<Page<Refusal>>("/api/refusals"),
    refetchInterval: 10_000,
    retry: false,
  });
  // A session of one tenant may not see what others were refused.
  if (isStatus(error, 403)) return null;
  return (
    <section aria-labelledby="refusals">
      <h2 id="refusals" className="mb-1 type-h2">
        Rejected webhooks
      </h2>
      {!data ? (
        error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={2} height={44} />
        )
      ) : data.items.length === 0 ? (
        <p className="text-ink-2">None since the hub started.</p>
      ) : (
        <ul className="tile divide-y divide-line">
          {data.items.map(({ source, reason, count: number, last_at, detail }) => (
            <li
              key={`${source} ${reason}`}
              className="grid grid-cols-[30px_200px_minmax(0,1fr)_60px_110px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-[30px_minmax(0,1fr)]"
            >
              <SourceMark source={source || "?"} />
              <code className="text-red">{reason}</code>
              <span className="wrap-anywhere type-meta text-ink-2">{detail}</span>
              <code className="text-right">{count(number)}</code>
              <span className="text-right type-meta text-ink-3">{ago(last_at)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
