import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { bytes } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";

export function EventHeaders({ id }: { id: string }) {
  const query = useQuery({
    queryKey: ["events", id, "headers"],
    queryFn: () => api.get("/api/events/:event/headers", { params: { event: id } }),
  });
  return (
    <Loaded query={query} rows={6} height={28}>
      {({ content_type, headers, size }) => (
        <div className="pb-6">
          <p className="mb-3 type-meta text-ink-3">
            The body has {bytes(size)}. The hub does not store signatures and credentials.
          </p>
          <dl className="type-code">
            {Object.entries({ "content-type": content_type, ...headers }).map(([name, value]) => (
              <div
                key={name}
                className="group grid grid-cols-[180px_minmax(0,1fr)] items-start gap-3 border-line border-b py-1"
              >
                <dt className="wrap-anywhere json-key pt-1">{name}</dt>
                <dd className="flex items-start gap-3">
                  <bdi className="wrap-anywhere flex-1 pt-1">{value}</bdi>
                  <CopyButton text={value} label={`Copy ${name}`} />
                </dd>
              </div>
            ))}
          </dl>
        </div>
      )}
    </Loaded>
  );
}
