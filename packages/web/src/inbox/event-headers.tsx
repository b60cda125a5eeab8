import { useQuery } from "@tanstack/react-query";
import { api, path } from "../api/client.ts";
import type { EventHeadersView } from "../api/types.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { bytes } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";

export function EventHeaders({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["events", id, "headers"],
    queryFn: () => api.get<EventHeadersView>(path`/api/events/${id}/headers`),
  });
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows rows={6} height={28} />;
  const headers = Object.entries({ "content-type": data.content_type, ...data.headers });
  return (
    <div className="pb-6">
      <p className="mb-3 type-meta text-ink-3">
        The body has {bytes(data.size)}. Signatures and credentials are not kept.
      </p>
      <dl className="type-code">
        {headers.map(([name, value]) => (
          <div
            key={name}
            className="group grid grid-cols-[180px_minmax(0,1fr)] items-start gap-3 border-line border-b py-1"
          >
            <dt className="wrap-anywhere json-key pt-1">{name}</dt>
            <dd className="flex items-start gap-3">
              <span className="wrap-anywhere flex-1 pt-1">{value}</span>
              <CopyButton text={value} label={`Copy ${name}`} />
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
