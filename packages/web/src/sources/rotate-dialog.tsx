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
import { DialogForm } from "../ui/dialog-form.tsx";
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
        <DialogForm
          submit="Rotate"
          icon={KeyRound}
          request={rotate}
          isReady={!isIssuedBySender || secret !== ""}
          onSubmit={() => rotate.mutate()}
          onClose={onClose}
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
        </DialogForm>
      )}
    </Dialog>
  );
}
