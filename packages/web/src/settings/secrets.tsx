/** Manages the secrets of flows. Their values can be written, but not read. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Lock } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { ago } from "../ui/format.ts";
import { Loaded } from "../ui/loaded.tsx";
import { toasts } from "../ui/toast.tsx";

export function Secrets() {
  /** The name of the secret in the dialog; empty for a new secret. */
  const [editedName, setEditedName] = useState<string>();
  const [nameToDelete, setNameToDelete] = useState<string>();
  const secrets = useQuery({
    queryKey: ["secrets"],
    queryFn: () => api.get("/api/secrets"),
  });
  const addButton = (
    <Button look="primary" icon={Lock} onClick={() => setEditedName("")}>
      Add a secret
    </Button>
  );
  return (
    <section aria-label="Secrets of flows">
      <Loaded query={secrets}>
        {({ items }) =>
          items.length === 0 ? (
            <EmptyState title="No secret yet" actions={addButton}>
              A flow uses a secret as {"{{ secrets.NAME }}"}, in headers and credentials only. The
              hub stores it encrypted, and masks it in the records of runs.
            </EmptyState>
          ) : (
            <>
              <div className="mb-4 flex items-center justify-between gap-4">
                <p className="text-ink-2">
                  A flow uses a secret as <code>{"{{ secrets.NAME }}"}</code>. Its value cannot be
                  read again.
                </p>
                {addButton}
              </div>
              <ul className="tile divide-y divide-line">
                {items.map(({ name, updated_at }) => (
                  <li key={name} className="flex items-center gap-4 px-4 py-2">
                    <code className="wrap-anywhere flex-1">{name}</code>
                    <span className="type-meta text-ink-3">set {ago(updated_at)}</span>
                    <Button
                      size="small"
                      aria-label={`Replace ${name}`}
                      onClick={() => setEditedName(name)}
                    >
                      Replace
                    </Button>
                    <Button
                      size="small"
                      look="danger"
                      aria-label={`Delete ${name}`}
                      onClick={() => setNameToDelete(name)}
                    >
                      Delete
                    </Button>
                  </li>
                ))}
              </ul>
            </>
          )
        }
      </Loaded>
      {editedName !== undefined && (
        <EditDialog name={editedName} onClose={() => setEditedName(undefined)} />
      )}
      {nameToDelete !== undefined && (
        <ConfirmDialog
          title={`Delete ${nameToDelete}?`}
          description="Runs of flows that use this secret fail until you add it again. Its value cannot be restored."
          label="Delete"
          onConfirm={() => api.delete("/api/secrets/:name", { params: { name: nameToDelete } })}
          onDone={({ warnings }) => {
            void queryClient.invalidateQueries({ queryKey: ["secrets"] });
            toasts.add({
              aspect: warnings.length > 0 ? "amber" : "green",
              title: `${nameToDelete} was deleted`,
              ...(warnings.length > 0 && { detail: warnings.join(" ") }),
            });
          }}
          onClose={() => setNameToDelete(undefined)}
        />
      )}
    </section>
  );
}

function EditDialog({ name: existingName, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(existingName);
  const [value, setValue] = useState("");
  const save = useMutation({
    mutationFn: () => api.put("/api/secrets/:name", { params: { name }, body: { value } }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["secrets"] });
      toasts.add({ aspect: "green", title: `${name} is stored` });
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={existingName ? `Replace ${existingName}` : "Add a secret"}
    >
      <DialogForm
        submit="Store"
        request={save}
        isReady={name !== "" && value !== ""}
        onSubmit={() => save.mutate()}
        onClose={onClose}
      >
        <Field label="Name" hint="A–Z, 0–9 and _, such as GITHUB_TOKEN." required>
          {(control) => (
            <TextInput
              {...control}
              code
              readOnly={existingName !== ""}
              value={name}
              onChange={(event) => setName(event.target.value.toUpperCase())}
            />
          )}
        </Field>
        <Field label="Value" required>
          {(control) => (
            <TextInput
              {...control}
              code
              type="password"
              value={value}
              onChange={(event) => setValue(event.target.value)}
            />
          )}
        </Field>
      </DialogForm>
    </Dialog>
  );
}
