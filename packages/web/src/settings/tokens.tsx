/** Lists access tokens with their last use, creates and revokes them. */

import type { Token } from "@signalbox/contract";
import { DEFAULT_SCOPES, SCOPES } from "@signalbox/contract/scopes.ts";
import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { usePages } from "../app/use-pages.ts";
import { Button } from "../ui/button.tsx";
import { Checkbox } from "../ui/checkbox.tsx";
import { Chip } from "../ui/chip.tsx";
import { CommandLine } from "../ui/command-line.tsx";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { ago, dateInText } from "../ui/format.ts";
import { LoadMore } from "../ui/load-more.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { toasts } from "../ui/toast.tsx";

export function Tokens() {
  /** A token is the one to revoke. */
  const [dialog, setDialog] = useState<"create" | Token>();
  const tokens = usePages(["tokens"], (query) => api.get("/api/tokens", { query }));
  const close = () => setDialog(undefined);
  const active = tokens.data?.filter(({ revoked_at }) => revoked_at === null) ?? [];
  return (
    <section aria-label="Tokens">
      <div className="mb-4 flex items-center justify-between gap-4">
        <p className="text-ink-2">
          Agents and scripts authenticate with a token. Create a separate token for each.
        </p>
        <Button look="primary" icon={KeyRound} onClick={() => setDialog("create")}>
          Create a token
        </Button>
      </div>
      <Loaded query={tokens}>
        {() =>
          active.length === 0 ? (
            !tokens.hasNextPage && (
              <EmptyState title="No token yet" command="npx signalbox token create NAME" />
            )
          ) : (
            <ul className="tile divide-y divide-line">
              {active.map((token) => (
                <TokenRow key={token.id} token={token} onRevoke={() => setDialog(token)} />
              ))}
            </ul>
          )
        }
      </Loaded>
      <LoadMore list={tokens} noun="tokens" />
      {dialog === "create" && <CreateDialog onClose={close} />}
      {typeof dialog === "object" && (
        <ConfirmDialog
          title={`Revoke “${dialog.name}”?`}
          description="The hub immediately rejects clients that use this token. A revoked token cannot be restored, but you can create another one."
          label="Revoke"
          onConfirm={() => api.delete("/api/tokens/:token", { params: { token: dialog.id } })}
          onDone={() => {
            void queryClient.invalidateQueries({ queryKey: ["tokens"] });
            toasts.add({ aspect: "green", title: `“${dialog.name}” was revoked` });
          }}
          onClose={close}
        />
      )}
    </section>
  );
}

const TokenRow = ({ token, onRevoke }: { token: Token; onRevoke: () => void }) => (
  <li className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.4fr)_150px_auto] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-1">
    <span className="min-w-0">
      <b className="block truncate type-strong" title={token.name}>
        {token.name}
      </b>
      <span className="type-meta text-ink-3">{validityOf(token)}</span>
    </span>
    <span className="flex flex-wrap gap-1">
      {token.scopes.map((scope) => (
        <Chip key={scope}>{scope}</Chip>
      ))}
    </span>
    <span className="type-meta text-ink-2">
      {token.last_used_at ? `used ${ago(token.last_used_at)}` : "never used"}
    </span>
    <Button size="small" look="danger" aria-label={`Revoke ${token.name}`} onClick={onRevoke}>
      Revoke
    </Button>
  </li>
);

function validityOf({ expires_at }: Token): string {
  if (expires_at === null) return "does not expire";
  return Date.parse(expires_at) > Date.now()
    ? `until ${dateInText(expires_at)}`
    : `expired ${ago(expires_at)}`;
}

function CreateDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState([...DEFAULT_SCOPES]);
  const [days, setDays] = useState("");
  const create = useMutation({
    mutationFn: () =>
      api.post("/api/tokens", {
        body: {
          name: name.trim(),
          scopes,
          ...(days && { days: Number(days) }),
        },
      }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ["tokens"] }),
  });
  return (
    <Dialog open onClose={onClose} title="Create a token" keepOpen={create.data !== undefined}>
      {create.data ? (
        <div className="flex flex-col gap-4">
          <p className="text-ink-2">Copy the token now. It is not shown again.</p>
          <CommandLine label="Copy the token">{create.data.token}</CommandLine>
          <div className="flex justify-end">
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      ) : (
        <DialogForm
          submit="Create"
          request={create}
          isReady={name.trim() !== "" && scopes.length > 0}
          onSubmit={() => create.mutate()}
          onClose={onClose}
        >
          <Field label="Name" required>
            {(control) => (
              <TextInput
                {...control}
                autoFocus
                maxLength={200}
                value={name}
                onChange={(event) => setName(event.target.value)}
                placeholder="laptop"
              />
            )}
          </Field>
          <fieldset className="flex flex-col gap-2">
            <legend className="mb-1 type-label text-ink-2">Scopes</legend>
            {SCOPES.map((scope) => (
              <span key={scope} className="flex items-center gap-2">
                <Checkbox
                  checked={scopes.includes(scope)}
                  label={scope}
                  onChange={(checked) =>
                    setScopes((before) =>
                      checked ? [...before, scope] : before.filter((name) => name !== scope),
                    )
                  }
                />
                <code aria-hidden>{scope}</code>
              </span>
            ))}
          </fieldset>
          <Field label="Days until the token expires" hint="Blank: the token does not expire.">
            {(control) => (
              <TextInput
                {...control}
                type="number"
                min={1}
                value={days}
                onChange={(event) => setDays(event.target.value)}
              />
            )}
          </Field>
        </DialogForm>
      )}
    </Dialog>
  );
}
