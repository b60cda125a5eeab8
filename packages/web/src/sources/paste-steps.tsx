/**
 * Shows how to set up the sender of a new endpoint: the URL to paste, and the secret. If the hub has
 * generated the secret, it is shown only here. If the sender issues it, the user enters it here.
 */

import type { SourceKind, SourceWithSecret } from "@signalbox/contract";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { CommandLine } from "../ui/command-line.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";

export function PasteSteps({
  source,
  kind,
  onDone,
}: {
  source: SourceWithSecret;
  kind: SourceKind;
  onDone: () => void;
}) {
  const [secret, setSecret] = useState("");
  const isIssuedBySender = kind.secret.issued_by === "sender";
  const save = useMutation({
    // The secret that the hub generated was never shown, so it needs no grace period.
    mutationFn: () =>
      api.patch("/api/sources/:source", {
        params: { source: source.id },
        body: { rotate: { secret, grace_hours: 0 } },
      }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["sources"] });
      onDone();
    },
  });
  return (
    <form
      className="flex flex-col gap-5"
      onSubmit={(event) => {
        event.preventDefault();
        if (isIssuedBySender) save.mutate();
        else onDone();
      }}
    >
      <p>{kind.secret.setup}</p>
      <div className="flex flex-col gap-1">
        <span className="type-label text-ink-2">URL</span>
        <CommandLine label="Copy the URL">{source.url}</CommandLine>
      </div>
      {isIssuedBySender ? (
        <Field
          label={`Secret that ${kind.title} shows`}
          hint="It is stored encrypted, and cannot be read again."
          required
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
      ) : (
        source.secret && (
          <div className="flex flex-col gap-1">
            <span className="type-label text-ink-2">Secret, shown only now</span>
            <CommandLine label="Copy the secret">{source.secret}</CommandLine>
          </div>
        )
      )}
      {save.error && <ErrorState error={save.error} compact />}
      <div className="flex justify-end gap-2">
        {isIssuedBySender && <Button onClick={onDone}>Later</Button>}
        <Button
          type="submit"
          look="primary"
          busy={save.isPending}
          disabled={isIssuedBySender && secret === ""}
        >
          {isIssuedBySender ? "Store the secret" : "Done"}
        </Button>
      </div>
    </form>
  );
}
