/** The published versions: roll back to one, or take its graph as the draft. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, path } from "../api/client.ts";
import type { Flow, FlowVersion } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import type { Graph } from "./graph.ts";
import type { Draft } from "./use-draft.ts";

export function VersionsDialog({
  draft: { flow, graph, autosave, showTheirs, dispatch },
  onClose,
}: {
  draft: Draft;
  onClose: () => void;
}) {
  const [busy, setBusy] = useState<number>();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["flows", flow.id, "versions"],
    queryFn: () => api.get<{ items: FlowVersion[] }>(path`/api/flows/${flow.id}/versions`),
  });
  const act = (version: number, work: () => Promise<unknown>) => {
    setBusy(version);
    work()
      .then(onClose, toastError)
      .finally(() => setBusy(undefined));
  };
  const rollBack = async (version: number) => {
    await autosave.flush();
    const published = await api.post<Flow>(
      path`/api/flows/${flow.id}/rollback`,
      { version },
      { ifMatch: autosave.revision() },
    );
    showTheirs(published);
    toasts.add({ aspect: "green", title: `Published v${version} again, as v${published.version}` });
  };
  const edit = async (version: number) => {
    const old = await api.get<Pick<Graph, "nodes" | "edges">>(
      path`/api/flows/${flow.id}/versions/${String(version)}`,
    );
    dispatch({ do: "replace", graph: { ...graph, ...old } });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Versions"
      description="Your draft before a roll back is one Undo away."
    >
      {isPending && <SkeletonRows />}
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && (
        <p className="py-4 text-ink-2">This flow was not published yet.</p>
      )}
      <ul className="divide-y divide-line">
        {data?.items.map(({ version, note, created_by, created_at }) => (
          <li key={version} className="flex items-center gap-3 py-2">
            <Chip>v{version}</Chip>
            <span className="min-w-0 flex-1">
              <span className="wrap-anywhere line-clamp-2">{note || "No note"}</span>
              <span className="block type-meta text-ink-3">
                {ago(created_at)} by {created_by}
              </span>
            </span>
            {version === flow.version ? (
              <Chip words>published</Chip>
            ) : (
              <>
                <Button size="small" onClick={() => act(version, () => edit(version))}>
                  Edit from here
                </Button>
                <Button
                  size="small"
                  busy={busy === version}
                  onClick={() => act(version, () => rollBack(version))}
                >
                  Roll back
                </Button>
              </>
            )}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
