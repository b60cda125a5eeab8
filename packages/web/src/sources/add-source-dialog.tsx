/** Adds an endpoint: first its address, then where to paste what, and whose secret it is. */
import { useMutation } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import type { SourceKind, SourceWithSecret } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, SelectInput, TextInput } from "../ui/field.tsx";
import { PasteSteps } from "./paste-steps.tsx";

export function AddSourceDialog({
  kinds,
  onClose,
}: {
  kinds: readonly SourceKind[];
  onClose: () => void;
}) {
  const [kindId, setKindId] = useState(kinds[0]?.id ?? "");
  const [name, setName] = useState("");
  const kind = kinds.find(({ id }) => id === kindId);
  const add = useMutation({
    mutationFn: () =>
      api.post<SourceWithSecret>("/api/sources", {
        kind: kindId,
        ...(name.trim() && { name: name.trim() }),
      }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ["sources"] }),
  });
  if (add.data && kind)
    return (
      <Dialog open onClose={onClose} title={`Set up ${kind.title}`} className="w-[600px]">
        <PasteSteps source={add.data} kind={kind} onDone={onClose} />
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a source"
      description="The endpoint gets an address with a key. Next, this page says where to paste it."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <Field label="Sender">
          {(control) => (
            <SelectInput
              {...control}
              value={kindId}
              onChange={(event) => setKindId(event.target.value)}
            >
              {kinds.map(({ id, title }) => (
                <option key={id} value={id}>
                  {title}
                </option>
              ))}
            </SelectInput>
          )}
        </Field>
        <Field label="Name" hint="To tell it from others of its kind.">
          {(control) => (
            <TextInput
              {...control}
              maxLength={200}
              value={name}
              onChange={(event) => setName(event.target.value)}
              placeholder={kind?.title}
            />
          )}
        </Field>
        {kind?.config && (
          <p className="type-meta text-ink-2">
            How a generic sender signs and names its events is set with{" "}
            <code>npx signalbox source add generic --help</code>. Without it: HMAC-SHA256.
          </p>
        )}
        {add.error && <ErrorState error={add.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" icon={Plus} busy={add.isPending}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
