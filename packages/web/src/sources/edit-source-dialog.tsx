/** Changes the name of an endpoint, and how it verifies webhooks and names their types. */

import type { Source, SourceKind } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { SourceConfig } from "./source-config.tsx";

export function EditSourceDialog({
  source,
  kind,
  onClose,
}: {
  source: Source;
  kind: SourceKind | undefined;
  onClose: () => void;
}) {
  const [name, setName] = useState(source.name);
  const [config, setConfig] = useState<JsonObject>(source.config);
  const save = useMutation({
    mutationFn: () =>
      api.patch("/api/sources/:source", {
        params: { source: source.id },
        body: {
          name: name.trim(),
          ...(kind?.config && { config }),
        },
      }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["sources"] });
      onClose();
    },
  });
  return (
    <Dialog open onClose={onClose} title={`Edit “${source.name}”`}>
      <DialogForm
        submit="Save"
        request={save}
        isReady={name.trim() !== ""}
        onSubmit={() => save.mutate()}
        onClose={onClose}
      >
        <Field label="Name" required>
          {(control) => (
            <TextInput
              {...control}
              autoFocus
              maxLength={200}
              value={name}
              onChange={({ target }) => setName(target.value)}
            />
          )}
        </Field>
        {kind?.config && (
          <SourceConfig
            schema={kind.config}
            value={config}
            error={save.error}
            onChange={setConfig}
          />
        )}
      </DialogForm>
    </Dialog>
  );
}
