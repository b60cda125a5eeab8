/** Changes the name of an endpoint, and how it verifies webhooks and names their types. */

import type { Source, SourceKind } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
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
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
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
        {save.error && <ErrorState error={save.error} compact />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={save.isPending} disabled={name.trim() === ""}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
