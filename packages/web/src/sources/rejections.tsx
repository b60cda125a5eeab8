/** Shows how many webhooks were rejected, by source and reason. */

import type { RejectionCount } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { isStatus } from "../api/problem.ts";
import { ago, count, plural } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { SourceMark } from "../ui/source-mark.tsx";

export function Rejections() {
  const rejections = useQuery({
    queryKey: ["rejections"],
    queryFn: () => api.get("/api/refusals"),
    refetchInterval: 10_000,
    retry: false,
  });
  // A session of one tenant may not see the rejected webhooks of other tenants.
  if (isStatus(rejections.error, 403)) return null;
  return (
    <section aria-labelledby="rejections">
      <h2 id="rejections" className="mb-1 type-h2">
        Rejected webhooks
      </h2>
      <Loaded query={rejections} rows={2} height={44}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="text-ink-2">None since the hub started.</p>
          ) : (
            <ul className="tile divide-y divide-line">
              {items.map((rejection) => (
                <RejectionRow
                  key={`${rejection.source} ${rejection.reason}`}
                  rejection={rejection}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

const RejectionRow = ({
  rejection: { source, reason, count: total, last_at, detail },
}: {
  rejection: RejectionCount;
}) => (
  <li className="grid grid-cols-[30px_200px_minmax(0,1fr)_60px_110px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-[30px_minmax(0,1fr)]">
    <SourceMark source={source || "?"} />
    <code className="wrap-anywhere text-red">{reason}</code>
    <span className="wrap-anywhere type-meta text-ink-2">{detail}</span>
    <code className="text-right" title={plural(total, "rejected webhook")}>
      {count(total)}
    </code>
    <span className="text-right type-meta text-ink-3">{ago(last_at)}</span>
  </li>
);
