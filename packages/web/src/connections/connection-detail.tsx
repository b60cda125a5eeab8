/** The details of a connection: its status, tools and triggers, and the flows that use it. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Pencil, Play, RefreshCw, Trash2, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { ConfirmDialog } from "../ui/confirm-dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { withCode } from "../ui/with-code.ts";
import { AuthorizationButtons } from "./authorization-buttons.tsx";
import { CallToolDialog } from "./call-tool-dialog.tsx";
import { ConnectionDialog } from "./connection-dialog.tsx";
import { accessText, usesAuthorizationCode } from "./connection-form.ts";
import { signalOfConnection } from "./connection-signals.ts";
import { Subscriptions } from "./subscriptions.tsx";

/** The same interval as in the list, so that both show the same status. */
const REFRESH_MS = 10_000;

export function ConnectionDetail({ id, onClose }: { id: string; onClose: () => void }) {
  const [tab, setTab] = useState("tools");
  const [calledTool, setCalledTool] = useState<string>();
  const [openDialog, setOpenDialog] = useState<"edit" | "delete">();
  const key = ["connections", "one", id];
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: () => api.get("/api/connections/:connection", { params: { connection: id } }),
    refetchInterval: REFRESH_MS,
  });
  const check = useMutation({
    mutationFn: () =>
      api.post("/api/connections/:connection/check", { params: { connection: id } }),
    onSuccess: (checked) => {
      queryClient.setQueryData(key, checked);
      void queryClient.invalidateQueries({ queryKey: ["connections"] });
    },
    onError: toastError,
  });
  if (error && !data)
    return (
      <div className="flex min-w-0 flex-col border-line border-l bg-plate px-5 pt-4">
        <IconButton
          size="small"
          icon={X}
          label="Close"
          onClick={onClose}
          className="ml-auto flex-none"
        />
        <ErrorState error={error} onRetry={() => void refetch()} />
      </div>
    );
  if (!data) return <SkeletonRows rows={6} />;
  const { aspect, label } = signalOfConnection(data);
  const access = accessText(data.credentials);
  return (
    <aside
      aria-label="Connection"
      className="flex min-h-0 min-w-0 flex-col border-line border-l bg-plate px-5 pt-4"
    >
      <div className="flex items-start gap-3">
        <SignalHead aspect={aspect} label={label} />
        <div className="min-w-0 flex-1">
          <h2 className="wrap-anywhere type-h2">{data.name}</h2>
          <code className="wrap-anywhere text-ink-2">{data.url ?? data.command}</code>
          {data.server && (
            <p className="type-meta text-ink-3">
              {data.server.name} {data.server.version}
            </p>
          )}
          {access && <p className="wrap-anywhere type-meta text-ink-3">Credentials: {access}</p>}
        </div>
        <IconButton size="small" icon={X} label="Close" onClick={onClose} />
      </div>
      {data.error && (
        <p role="alert" className="wrap-anywhere mt-3 rounded-tile bg-red-tint px-3 py-2 text-red">
          {data.error}
        </p>
      )}
      <div className="my-3 flex flex-wrap gap-2">
        {usesAuthorizationCode(data.credentials) && (
          <AuthorizationButtons id={id} status={data.status} />
        )}
        <Button icon={RefreshCw} busy={check.isPending} onClick={() => check.mutate()}>
          Check now
        </Button>
        <Button icon={Pencil} onClick={() => setOpenDialog("edit")}>
          Edit
        </Button>
        <span className="flex-1" />
        <Button look="danger" icon={Trash2} onClick={() => setOpenDialog("delete")}>
          Delete
        </Button>
      </div>
      <Tabs
        label="Details of the connection"
        className="-mx-5 mb-[14px] px-5"
        value={tab}
        onChange={setTab}
        tabs={[
          {
            value: "tools",
            label: "Tools",
            count: data.tools.length,
            content: (
              <OfferList items={data.tools} onCall={setCalledTool}>
                The server offers no tools.
              </OfferList>
            ),
          },
          {
            value: "triggers",
            label: "Triggers",
            count: data.triggers.length,
            content: (
              <OfferList
                items={data.triggers.map(({ type, description }) => ({ name: type, description }))}
              >
                The server offers no triggers. The Event trigger of a flow can poll one of its tools
                instead.
              </OfferList>
            ),
          },
          {
            value: "used",
            label: "Used by",
            content: <Subscriptions connection={id} />,
          },
        ]}
      />
      {calledTool !== undefined && (
        <CallToolDialog
          connection={id}
          tool={calledTool}
          onClose={() => setCalledTool(undefined)}
        />
      )}
      {openDialog === "edit" && (
        <ConnectionDialog
          connection={data}
          onClose={() => setOpenDialog(undefined)}
          onSaved={(saved) => queryClient.setQueryData(key, saved)}
        />
      )}
      {openDialog === "delete" && (
        <ConfirmDialog
          title={`Delete “${data.name}”?`}
          description="Flows that use this connection fail, and its triggers stop. Its events are kept."
          label="Delete"
          icon={Trash2}
          onConfirm={() =>
            api.delete("/api/connections/:connection", { params: { connection: id } })
          }
          onDone={() => {
            void queryClient.invalidateQueries({ queryKey: ["connections", "all"] });
            toasts.add({ aspect: "green", title: `“${data.name}” was deleted` });
            onClose();
          }}
          onClose={() => setOpenDialog(undefined)}
        />
      )}
    </aside>
  );
}

function OfferList({
  items,
  onCall,
  children,
}: {
  items: readonly { name: string; description: string }[];
  onCall?: (name: string) => void;
  /** The text for an empty list. */
  children: ReactNode;
}) {
  if (items.length === 0) return <p className="text-ink-2">{children}</p>;
  return (
    <ul className="flex flex-col gap-2 pb-6">
      {items.map(({ name, description }) => (
        <li key={name} className="tile flex items-start gap-3 px-3 py-2">
          <span className="min-w-0 flex-1">
            <code className="wrap-anywhere block">{name}</code>
            <span className="wrap-anywhere line-clamp-3 type-meta text-ink-2">
              {withCode(description)}
            </span>
          </span>
          {onCall && (
            <Button
              size="small"
              icon={Play}
              onClick={() => onCall(name)}
              aria-label={`Call ${name}`}
            >
              Call
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
