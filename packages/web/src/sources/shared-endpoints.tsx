/** The addresses without a key: one for each kind of sender. */
import type { UseQueryResult } from "@tanstack/react-query";
import type { Page, SourceKind } from "../api/types.ts";
import { useSession } from "../app/session.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { SourceMark } from "../ui/source-mark.tsx";
import { LastReceived } from "./last-received.tsx";
import type { Received } from "./source-list.ts";

export function SharedEndpoints({
  kinds: { data, error, refetch },
  received,
}: {
  kinds: UseQueryResult<Page<SourceKind>>;
  received: ReadonlyMap<string, Received>;
}) {
  const { data: session } = useSession();
  return (
    <section aria-labelledby="shared-endpoints">
      <h2 id="shared-endpoints" className="type-h2">
        Endpoints of the whole hub
      </h2>
      <p className="mb-3 text-ink-2">
        Each kind of sender has one address without a key. Its secret is set where the hub runs.
      </p>
      {!data ? (
        error ? (
          <ErrorState error={error} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={8} height={52} />
        )
      ) : (
        <ul className="tile divide-y divide-line">
          {data.items.map(({ id, title, secret }) => (
            <li
              key={id}
              className="grid grid-cols-[30px_150px_minmax(0,1fr)_240px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-[30px_minmax(0,1fr)]"
            >
              <SourceMark source={id} />
              <span className="type-strong">{title}</span>
              <span className="min-w-0">
                <code className="wrap-anywhere block">
                  {session?.hub.webhook_url}/{id}
                </code>
                <code className="type-code-s text-ink-3">{secret.variable}</code>
              </span>
              <span className="type-meta text-ink-2">
                <LastReceived received={received.get(id)} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
