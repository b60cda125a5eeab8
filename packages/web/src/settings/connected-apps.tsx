/** The OAuth clients that were granted access, with their last use. */

import type { OAuthGrant } from "@signalbox/contract";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { usePages } from "../app/use-pages.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ago } from "../ui/format.ts";
import { LoadMore } from "../ui/load-more.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { toasts } from "../ui/toast.tsx";

const QUERY_KEY = ["oauth-grants"];

export function ConnectedApps() {
  const [grantToRevoke, setGrantToRevoke] = useState<OAuthGrant>();
  const grants = usePages(QUERY_KEY, (query) => api.get("/api/oauth/grants", { query }));
  return (
    <section aria-label="Connected apps">
      <p className="mb-4 text-ink-2">
        Apps that you have allowed to use this hub. They renew their access automatically.
      </p>
      <Loaded query={grants}>
        {(items) =>
          items.length === 0 ? (
            <EmptyState title="No app is connected">
              Configure an MCP client with the URL of this hub and without a token. The client then
              asks for your consent.
            </EmptyState>
          ) : (
            <ul className="tile divide-y divide-line">
              {items.map((grant) => (
                <GrantRow key={grant.id} grant={grant} onRevoke={() => setGrantToRevoke(grant)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <LoadMore list={grants} noun="apps" />
      {grantToRevoke && (
        <ConfirmDialog
          title={`Disconnect “${grantToRevoke.client_name}”?`}
          description="The hub rejects its requests immediately. To connect it again, you must allow its access again."
          label="Disconnect"
          onConfirm={() =>
            api.delete("/api/oauth/grants/:grant", { params: { grant: grantToRevoke.id } })
          }
          onDone={() => {
            void queryClient.invalidateQueries({ queryKey: QUERY_KEY });
            toasts.add({
              aspect: "green",
              title: `“${grantToRevoke.client_name}” was disconnected`,
            });
          }}
          onClose={() => setGrantToRevoke(undefined)}
        />
      )}
    </section>
  );
}

const GrantRow = ({ grant, onRevoke }: { grant: OAuthGrant; onRevoke: () => void }) => (
  <li className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.4fr)_150px_auto] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-1">
    <span className="min-w-0">
      <b className="block truncate type-strong" title={grant.client_name}>
        {grant.client_name}
      </b>
      <span className="block truncate type-meta text-ink-3" title={grant.resource}>
        {grant.resource}, connected {ago(grant.created_at)}
      </span>
    </span>
    <span className="flex flex-wrap gap-1">
      {grant.scopes.map((scope) => (
        <Chip key={scope}>{scope}</Chip>
      ))}
    </span>
    <span className="type-meta text-ink-2">
      {grant.last_used_at ? `used ${ago(grant.last_used_at)}` : "never used"}
    </span>
    <Button
      size="small"
      look="danger"
      aria-label={`Disconnect ${grant.client_name}`}
      onClick={onRevoke}
    >
      Disconnect
    </Button>
  </li>
);
