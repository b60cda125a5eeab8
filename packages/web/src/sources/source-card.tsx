/** An endpoint with a key: its address, its secrets, and what it received. */
import { KeyRound, Pencil, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, path } from "../api/client.ts";
import type { Source, SourceKind, TestEventSent } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { CommandLine } from "../ui/command-line.tsx";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { clock, day } from "../ui/format.ts";
import { SourceMark } from "../ui/source-mark.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { EditSourceDialog } from "./edit-source-dialog.tsx";
import { LastReceived, type ReceivedByEndpoint } from "./last-received.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";
import { configText, secretsText } from "./source-list.ts";

export function SourceCard({
  source,
  kind,
  received,
}: {
  source: Source;
  kind: SourceKind | undefined;
  received: ReceivedByEndpoint;
}) {
  const [layer, setLayer] = useState<"edit" | "rotate" | "delete">();
  const [, navigate] = useLocation();
  const sendTest = () =>
    api
      .post<TestEventSent>("/api/events/test", { source: source.id })
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
          <LastReceived all={received} id={source.id} />
        </div>
      </div>
      <CommandLine label={`Copy the address of ${source.name}`}>{source.url}</CommandLine>
      <p className="type-meta text-ink-2">
        {secretsText(source, (iso) => `${day(iso)}, ${clock(iso)}`)}
      </p>
      {Object.keys(source.config).length > 0 && (
        <code className="wrap-anywhere type-code-s text-ink-2">{configText(source.config)}</code>
      )}
      <div className="mt-auto flex flex-wrap gap-2 border-line border-t pt-3">
        <Button size="small" icon={Send} onClick={() => void sendTest()}>
          Send test event
        </Button>
        <Button size="small" icon={KeyRound} onClick={() => setLayer("rotate")}>
          Rotate the secret
        </Button>
        <Button size="small" icon={Pencil} onClick={() => setLayer("edit")}>
          Edit
        </Button>
        <span className="flex-1" />
        <Button size="small" look="danger" icon={Trash2} onClick={() => setLayer("delete")}>
          Delete
        </Button>
      </div>
      {layer === "edit" && (
        <EditSourceDialog source={source} kind={kind} onClose={() => setLayer(undefined)} />
      )}
      {layer === "rotate" && (
        <RotateDialog source={source} kind={kind} onClose={() => setLayer(undefined)} />
      )}
      {layer === "delete" && (
        <ConfirmDialog
          title={`Delete “${source.name}”?`}
          description="Its address stops accepting webhooks at once, and the same address cannot be created again. Its events are kept."
          label="Delete"
          icon={Trash2}
          act={() => api.delete(path`/api/sources/${source.id}`)}
          onDone={() => {
            void queryClient.invalidateQueries({ queryKey: ["sources"] });
            toasts.add({ aspect: "green", title: `“${source.name}” was deleted` });
          }}
          onClose={() => setLayer(undefined)}
        />
      )}
    </li>
  );
}
