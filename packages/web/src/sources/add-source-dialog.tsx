/** Adds a webhook endpoint, and then shows how to set up the sender. */

import type { SourceKind } from "@signalbox/contract";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { useMutation } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { Field, SelectInput, TextInput } from "../ui/field.tsx";
import { PasteSteps } from "./paste-steps.tsx";
import { SourceConfig } from "./source-config.tsx";

export function AddSourceDialog({
  kinds,
  onClose,
}: {
  kinds: readonly SourceKind[];
  onClose: () => void;
}) {
  const [kindId, setKindId] = useState(kinds[0]?.id ?? "");
  const [name, setName] = useState("");
  const [config, setConfig] = useState<JsonObject>({});
  const kind = kinds.find(({ id }) => id === kindId);
  const add = useMutation({
    mutationFn: () =>
      api.post("/api/sources", {
        body: {
          kind: kindId,
          ...(name.trim() && { name: name.trim() }),
          ...(kind?.config && { config }),
        },
      }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: ["sources"] }),
  });
  if (add.data && kind)
    return (
      <Dialog open keepOpen onClose={onClose} title={`Set up ${kind.title}`} className="w-[600px]">
        <PasteSteps source={add.data} kind={kind} onDone={onClose} />
      </Dialog>
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Add a source"
      description="The endpoint gets a URL with a key. The next step shows where to paste the URL."
    >
      <DialogForm
        submit="Add"
        icon={Plus}
        request={add}
        onSubmit={() => add.mutate()}
        onClose={onClose}
      >
        <Field label="Sender">
          {(control) => (
            <SelectInput
              {...control}
              value={kindId}
              onChange={(event) => {
                setKindId(event.target.value);
                setConfig({});
              }}
            >
              {kinds.map(({ id, title }) => (
                <option key={id} value={id}>
                  {title}
                </option>
              ))}
            </SelectInput>
          )}
        </Field>
        <Field label="Name" hint="It distinguishes endpoints of the same sender.">
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
          <SourceConfig
            schema={kind.config}
            value={config}
            error={add.error}
            onChange={setConfig}
          />
        )}
      </DialogForm>
    </Dialog>
  );
}
