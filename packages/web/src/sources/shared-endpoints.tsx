/** Lists the endpoints without a key: one for each kind of sender. */
import type { SourceKind } from "@signalbox/contract";
import { useSession } from "../app/session.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { type Loadable, Loaded } from "../ui/loaded.tsx";
import { SourceMark } from "../ui/source-mark.tsx";
import { LastReceived, type ReceivedByEndpoint } from "./last-received.tsx";
import { VERIFICATION_TEXT } from "./source-list.ts";

export function SharedEndpoints({
  kinds,
  received,
}: {
  kinds: Loadable<{ items: SourceKind[] }>;
  received: ReceivedByEndpoint;
}) {
  const { data: session } = useSession();
  return (
    <section aria-labelledby="shared-endpoints">
      <h2 id="shared-endpoints" className="type-h2">
        Endpoints of the whole hub
      </h2>
      <p className="mb-3 text-ink-2">
        Each kind of sender has one address without a key. Its secret is a setting of the hub, whose
        name is below the address.
      </p>
      <Loaded query={kinds} rows={8} height={52}>
        {({ items }) => (
          <ul className="tile divide-y divide-line">
            {items.map(({ id, title, secret, verification }) => {
              const url = `${session?.hub.webhook_url}/${id}`;
              return (
                <li
                  key={id}
                  className="grid grid-cols-[30px_150px_minmax(0,1fr)_26px_240px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-[30px_minmax(0,1fr)_26px]"
                >
                  <SourceMark source={id} />
                  <span className="type-strong max-[900px]:col-span-2">{title}</span>
                  <span className="min-w-0 max-[900px]:col-start-2">
                    <code className="wrap-anywhere block">{url}</code>
                    <code className="type-code-s text-ink-3">{secret.variable}</code>
                    <span className="type-meta text-ink-2">
                      {" "}
                      · {VERIFICATION_TEXT[verification]}
                    </span>
                  </span>
                  <CopyButton text={url} label={`Copy the address for ${title}`} />
                  <span className="min-w-0 type-meta text-ink-2 max-[900px]:col-start-2">
                    <LastReceived
                      receivedByEndpoint={received}
                      id={id}
                      isRejecting={verification === "rejected" || verification === "key_required"}
                    />
                  </span>
                </li>
              );
            })}
          </ul>
        )}
      </Loaded>
    </section>
  );
}
