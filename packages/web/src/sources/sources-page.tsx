/** Webhook endpoints: add, rotate, what they received, and what was rejected. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { KeyRound, Pencil, Plus, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, path } from "../api/client.ts";
import type { EventType, Page, Refusal, Source, SourceKind, TestEventSent } from "../api/types.ts";
import { queryClient } from "../app/query-client.ts";
import { useSession } from "../app/session.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { Button } from "../ui/button.tsx";
import { CommandLine } from "../ui/command-line.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago, clock, count, day } from "../ui/format.ts";
import { SignalHead } from "../ui/signal-head.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { SourceMark } from "../ui/source-mark.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { AddSourceDialog } from "./add-source-dialog.tsx";
import { EditSourceDialog } from "./edit-source-dialog.tsx";
import { RotateDialog } from "./rotate-dialog.tsx";
import { configText, type Received, receivedBy, secretsText } from "./source-list.ts";

export default function SourcesPage() {
  usePageTitle("Sources");
  const [isAdding, setAdding] = useState(false);
  const sources = useQuery({
    queryKey: ["sources"],
    queryFn: () => api.get<Page<Source>>("/api/sources"),
  });
  const kinds = useQuery({
    queryKey: ["source-kinds"],
    queryFn: () => api.get<Page<SourceKind>>("/api/source-kinds"),
  });
  const types = useQuery({
    queryKey: ["event-types"],
    queryFn: () => api.get<Page<EventType>>("/api/event-types"),
    refetchInterval: 10_000,
  });
  const received = receivedBy(types.data?.items ?? []);
  const kindOf = (id: string) => kinds.data?.items.find((kind) => kind.id === id);
  const add = (
    <Button look="primary" icon={Plus} onClick={() => setAdding(true)}>
      Add a source
    </Button>
  );
  return (
    <div className="flex h-full min-h-0 flex-col">
      <header className="flex flex-none items-center gap-3 border-line border-b px-5 py-[14px]">
        <h1 className="type-h1">Sources</h1>
        <span className="flex-1" />
        {add}
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-5">
        <div className="mx-auto flex max-w-[1080px] flex-col gap-8">
          {sources.isPending ? (
            <SkeletonRows rows={4} />
          ) : sources.error ? (
            <ErrorState error={sources.error} onRetry={() => void sources.refetch()} />
          ) : sources.data.items.length === 0 ? (
            <EmptyState
              title="No endpoint with a key yet"
              command="npx signalbox source add github"
              actions={add}
            >
              An endpoint is an address for one sender, with a secret of its own that you can
              rotate.
            </EmptyState>
          ) : (
            <ul className="grid grid-cols-[repeat(auto-fill,minmax(420px,1fr))] gap-4 max-[560px]:grid-cols-1">
              {sources.data.items.map((source) => (
                <SourceCard
                  key={source.id}
                  source={source}
                  kind={kindOf(source.kind)}
                  received={received.get(source.id)}
                />
              ))}
            </ul>
          )}
          {kinds.data && <SharedEndpoints kinds={kinds.data.items} received={received} />}
          <Refusals />
        </div>
      </div>
      {isAdding && kinds.data && (
        <AddSourceDialog kinds={kinds.data.items} onClose={() => setAdding(false)} />
      )}
    </div>
  );
}

const LastReceived = ({ received }: { received: Received | undefined }) =>
  received ? (
    <span className="flex items-center gap-2">
      <SignalHead aspect="green" label="has received events" />
      <span>
        last received {ago(received.lastAt)}
        <span className="block text-ink-3">
          {received.types.slice(0, 4).join(", ")}
          {received.types.length > 4 && ", …"}
        </span>
      </span>
    </span>
  ) : (
    <span className="flex items-center gap-2 text-ink-3">
      <SignalHead aspect="none" label="nothing received" />
      nothing received lately
    </span>
  );

function SourceCard({
  source,
  kind,
  received,
}: {
  source: Source;
  kind: SourceKind | undefined;
  received: Received | undefined;
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
        <div className="type-meta text-ink-2">
          <LastReceived received={received} />
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
      {layer === "delete" && <DeleteDialog source={source} onClose={() => setLayer(undefined)} />}
    </li>
  );
}

function DeleteDialog({ source, onClose }: { source: Source; onClose: () => void }) {
  const remove = useMutation({
    mutationFn: () => api.delete(path`/api/sources/${source.id}`),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ["sources"] });
      toasts.add({ aspect: "green", title: `“${source.name}” was deleted` });
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Delete “${source.name}”?`}
      description="Its address stops accepting webhooks at once, and the same address cannot be created again. Its events are kept."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="danger"
            icon={Trash2}
            busy={remove.isPending}
            onClick={() => remove.mutate()}
          >
            Delete
          </Button>
        </>
      }
    >
      {remove.error && <ErrorState error={remove.error} compact />}
    </Dialog>
  );
}

function SharedEndpoints({
  kinds,
  received,
}: {
  kinds: readonly SourceKind[];
  received: ReadonlyMap<string, Received>;
}) {
  const { data: session } = useSession();
  return (
    <section aria-labelledby="shared-endpoints">
      <h2 id="shared-endpoints" className="type-h2">
        Endpoints of the whole hub
      </h2>
      <p className="mb-3 text-ink-2">
        Each kind of sender has one address without a key. Its secret is set where the hub runs.
      </p>
      <ul className="tile divide-y divide-line">
        {kinds.map(({ id, title, secret }) => (
          <li
            key={id}
            className="grid grid-cols-[30px_150px_minmax(0,1fr)_240px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-[30px_minmax(0,1fr)]"
          >
            <SourceMark source={id} />
            <span className="type-strong">{title}</span>
            <span className="min-w-0">
              <code className="wrap-anywhere block">
                {session?.hub.webhook_url}/{id}
              </code>
              <code className="type-code-s text-ink-3">{secret.variable}</code>
            </span>
            <span className="type-meta text-ink-2">
              <LastReceived received={received.get(id)} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Refusals() {
  const { data, error } = useQuery({
    queryKey: ["refusals"],
    queryFn: () => api.get<Page<Refusal>>("/api/refusals"),
    refetchInterval: 10_000,
    retry: false,
  });
  // A session of one tenant may not see what others were refused.
  if (error || !data) return null;
  return (
    <section aria-labelledby="refusals">
      <h2 id="refusals" className="mb-1 type-h2">
        Rejected webhooks
      </h2>
      {data.items.length === 0 ? (
        <p className="text-ink-2">None since the hub started.</p>
      ) : (
        <ul className="tile divide-y divide-line">
          {data.items.map(({ source, reason, count: number, last_at, detail }) => (
            <li
              key={`${source} ${reason}`}
              className="grid grid-cols-[30px_200px_minmax(0,1fr)_60px_110px] items-center gap-4 px-4 py-2 max-[900px]:grid-cols-[30px_minmax(0,1fr)]"
            >
              <SourceMark source={source || "?"} />
              <code className="text-red">{reason}</code>
              <span className="wrap-anywhere type-meta text-ink-2">{detail}</span>
              <code className="text-right">{count(number)}</code>
              <span className="text-right type-meta text-ink-3">{ago(last_at)}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
