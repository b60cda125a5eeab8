/** A card for an endpoint with a key: its address, its secrets, and the events it has received. */

import type { Source, SourceKind } from "@signalbox/contract";
import { KeyRound, Pencil, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { CommandLine } from "../ui/command-line.tsx";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { clock, dateInText } from "../ui/format.ts";
import { SourceMark } from "../ui/source-mark.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { EditSourceDialog } from "./edit-source-dialog.tsx";
import { LastReceived, type ReceivedByEndpoint } from "./last-received.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";
import { describeConfig, describeSecrets } from "./source-list.ts";

export function SourceCard({
  source,
  kind,
  received,
}: {
  source: Source;
  kind: SourceKind | undefined;
  received: ReceivedByEndpoint;
}) {
  const [openDialog, setOpenDialog] = useState<"edit" | "rotate" | "delete">();
  const [, navigate] = useLocation();
  const sendTest = () =>
    api
      .post("/api/events/test", { body: { source: source.id } })
      .then(({ id }) => navigate(`/inbox/${id}?view=all`), toastError);
  return (
    <li className="tile flex min-w-0 flex-col gap-3 p-4 shadow-tile">
      <div className="flex items-center gap-3">
        <SourceMark source={source.kind} />
        <div className="min-w-0 flex-1">
          <h2 className="truncate type-strong">{source.name}</h2>
          <p className="type-meta text-ink-3">{kind?.title ?? source.kind}</p>
        </div>
        <div className="max-w-[45%] type-meta text-ink-2">
          <LastReceived receivedByEndpoint={received} id={source.id} />
        </div>
      </div>
      <CommandLine label={`Copy the address of ${source.name}`}>{source.url}</CommandLine>
      <p className="type-meta text-ink-2">
        {describeSecrets(source, (iso) => `${dateInText(iso)}, ${clock(iso)}`)}
      </p>
      {Object.keys(source.config).length > 0 && (
        <code className="wrap-anywhere type-code-s text-ink-2">
          {describeConfig(source.config)}
        </code>
      )}
      <div className="mt-auto flex flex-wrap gap-2 border-line border-t pt-3">
        <Button size="small" icon={Send} onClick={() => void sendTest()}>
          Send test event
        </Button>
        <Button size="small" icon={KeyRound} onClick={() => setOpenDialog("rotate")}>
          Rotate the secret
        </Button>
        <Button size="small" icon={Pencil} onClick={() => setOpenDialog("edit")}>
          Edit
        </Button>
        <span className="flex-1" />
        <Button size="small" look="danger" icon={Trash2} onClick={() => setOpenDialog("delete")}>
          Delete
        </Button>
      </div>
      {openDialog === "edit" && (
        <EditSourceDialog source={source} kind={kind} onClose={() => setOpenDialog(undefined)} />
      )}
      {openDialog === "rotate" && (
        <RotateDialog source={source} kind={kind} onClose={() => setOpenDialog(undefined)} />
      )}
      {openDialog === "delete" && (
        <ConfirmDialog
          title={`Delete “${source.name}”?`}
          description="Its address stops accepting webhooks immediately, and you cannot create the same address again. Its events are kept."
          label="Delete"
          icon={Trash2}
          onConfirm={() => api.delete("/api/sources/:source", { params: { source: source.id } })}
          onDone={() => {
            void queryClient.invalidateQueries({ queryKey: ["sources"] });
            toasts.add({ aspect: "green", title: `“${source.name}” was deleted` });
          }}
          onClose={() => setOpenDialog(undefined)}
        />
      )}
    </li>
  );
}
