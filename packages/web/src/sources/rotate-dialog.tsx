/** Replaces the secret of an endpoint. The former secret stays valid for some hours. */

import type { Source, SourceKind } from "@signalbox/contract";
import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { CommandLine } from "../ui/command-line.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";

export function RotateDialog({
  source,
  kind,
  onClose,
}: {
  source: Source;
  kind: SourceKind | undefined;
  onClose: () => void;
}) {
  const [secret, setSecret] = useState("");
  const [hours, setHours] = useState("24");
  const isIssuedBySender = kind?.secret.issued_by === "sender";
  const rotate = useMutation({
    mutationFn: () =>
      api.patch("/api/sources/:source", {
        params: { source: source.id },
        body: {
          rotate: { ...(secret && { secret }), ...(hours && { grace_hours: Number(hours) }) },
        },
      }),
    onSuccess: ({ secret }) => {
      void queryClient.invalidateQueries({ queryKey: ["sources"] });
      if (!secret) onClose();
    },
  });
  return (
    <Dialog
      open
      keepOpen={rotate.data !== undefined}
      onClose={onClose}
      title={`Rotate the secret of “${source.name}”`}
      description={kind?.secret.setup}
    >
      {rotate.data?.secret ? (
        <div className="flex flex-col gap-4">
          <span className="type-label text-ink-2">New secret, shown only now</span>
          <CommandLine label="Copy the secret">{rotate.data.secret}</CommandLine>
          <div className="flex justify-end">
            <Button look="primary" onClick={onClose}>
              Done
            </Button>
          </div>
        </div>
      ) : (
        <form
          className="flex flex-col gap-4"
          onSubmit={(event) => {
            event.preventDefault();
            rotate.mutate();
          }}
        >
          <Field
            label={isIssuedBySender ? `New secret that ${kind?.title} shows` : "New secret"}
            hint={isIssuedBySender ? undefined : "Blank: the hub generates a secret."}
            required={isIssuedBySender}
          >
            {(control) => (
              <TextInput
                {...control}
                code
                type="password"
                value={secret}
                onChange={(event) => setSecret(event.target.value)}
              />
            )}
          </Field>
          <Field label="Hours for which the former secret stays valid" hint="Blank: 24 hours.">
            {(control) => (
              <TextInput
                {...control}
                inputMode="numeric"
                pattern="[0-9]{1,4}"
                value={hours}
                onChange={(event) => setHours(event.target.value)}
              />
            )}
          </Field>
          {rotate.error && <ErrorState error={rotate.error} compact />}
          <div className="flex justify-end gap-2">
            <Button onClick={onClose}>Cancel</Button>
            <Button
              type="submit"
              look="primary"
              icon={KeyRound}
              busy={rotate.isPending}
              disabled={isIssuedBySender && secret === ""}
            >
              Rotate
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
