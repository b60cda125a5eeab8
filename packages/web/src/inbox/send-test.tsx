/** The dialog in which the hub sends a signed sample to its own webhook endpoint. It needs no public URL. */

import type { SourceKind } from "@signalbox/contract";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { createContext, type ReactNode, useContext, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import { Dialog } from "../ui/dialog.tsx";
import { DialogForm } from "../ui/dialog-form.tsx";
import { Field, SelectInput, TextInput } from "../ui/field.tsx";
import { Loaded } from "../ui/loaded.tsx";
import { toasts } from "../ui/toast.tsx";

const SendTest = createContext<() => void>(() => {});

/** Returns a function that opens the dialog, from any component inside of `SendTestProvider`. */
export const useSendTest = () => useContext(SendTest);

export function SendTestProvider({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <SendTest value={() => setOpen(true)}>
      {children}
      {isOpen && <SendTestDialog onClose={() => setOpen(false)} />}
    </SendTest>
  );
}

function SendTestDialog({ onClose }: { onClose: () => void }) {
  const kinds = useQuery({
    queryKey: ["source-kinds"],
    queryFn: () => api.get("/api/source-kinds"),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Send a test event"
      description="The hub signs a sample with the endpoint's secret and sends it to itself. The sample is stored and matched, and starts flows, like a real event."
    >
      <Loaded query={kinds} rows={2}>
        {({ items }) => <SendTestForm kinds={items} onClose={onClose} />}
      </Loaded>
    </Dialog>
  );
}

function SendTestForm({ kinds, onClose }: { kinds: readonly SourceKind[]; onClose: () => void }) {
  const [, navigate] = useLocation();
  const [source, setSource] = useState(
    kinds.some(({ id }) => id === "github") ? "github" : (kinds[0]?.id ?? ""),
  );
  const [type, setType] = useState("issues");
  const [action, setAction] = useState("opened");
  const send = useMutation({
    mutationFn: () =>
      api.post("/api/events/test", {
        body: {
          source,
          ...(type && { type }),
          ...(action && source === "github" && { action }),
        },
      }),
    onSuccess: ({ id }) => {
      onClose();
      toasts.add({ aspect: "green", title: "The test event is in the inbox" });
      navigate(`/inbox/${id}?view=all`);
    },
  });
  const isGitHub = source === "github";
  return (
    <DialogForm
      submit="Send"
      icon={Send}
      request={send}
      onSubmit={() => send.mutate()}
      onClose={onClose}
    >
      <Field label="Source">
        {(control) => (
          <SelectInput
            {...control}
            value={source}
            onChange={(event) => {
              setSource(event.target.value);
              setType(event.target.value === "github" ? "issues" : "");
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
      <div className="grid grid-cols-2 gap-3">
        <Field label="Type" hint={isGitHub ? undefined : "Blank: the type of the sample."}>
          {(control) => (
            <TextInput
              {...control}
              code
              list="sample-types"
              value={type}
              onChange={(event) => {
                setType(event.target.value);
                setAction("");
              }}
            />
          )}
        </Field>
        {isGitHub && (
          <Field label="Action" hint="Blank: the action of the sample.">
            {(control) => (
              <TextInput
                {...control}
                code
                value={action}
                onChange={(event) => setAction(event.target.value)}
              />
            )}
          </Field>
        )}
      </div>
      <datalist id="sample-types">
        {kinds
          .find(({ id }) => id === source)
          ?.sample_types.map((type) => (
            <option key={type} value={type} />
          ))}
      </datalist>
    </DialogForm>
  );
}
