/** Lists the published versions, to roll back to one, or to use its graph as the draft. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Button } from "../ui/button.tsx";
import { Chip } from "../ui/chip.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { ago } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import type { Draft } from "./use-draft.ts";

export function VersionsDialog({
  draft: { flow, graph, autosave, replaceDraft, dispatch },
  onClose,
}: {
  draft: Draft;
  onClose: () => void;
}) {
  const [busyVersion, setBusyVersion] = useState<number>();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ["flows", flow.id, "versions"],
    queryFn: () => api.get("/api/flows/:flow/versions", { params: { flow: flow.id } }),
  });
  const runAction = (version: number, action: () => Promise<unknown>) => {
    setBusyVersion(version);
    action()
      .then(onClose, toastError)
      .finally(() => setBusyVersion(undefined));
  };
  const rollBack = async (version: number) => {
    await autosave.flush();
    const published = await api.post("/api/flows/:flow/rollback", {
      params: { flow: flow.id },
      body: { version },
      ifMatch: autosave.revision(),
    });
    replaceDraft(published);
    toasts.add({ aspect: "green", title: `Published v${version} again, as v${published.version}` });
  };
  const copyToDraft = async (version: number) => {
    const versionGraph = await api.get("/api/flows/:flow/versions/:version", {
      params: { flow: flow.id, version: String(version) },
    });
    dispatch({ do: "replace", graph: { ...graph, ...versionGraph } });
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Versions"
      description="After a rollback, Undo restores your draft."
    >
      {isPending && <SkeletonRows />}
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {data?.items.length === 0 && (
        <p className="py-4 text-ink-2">This flow has not been published yet.</p>
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
                <Button size="small" onClick={() => runAction(version, () => copyToDraft(version))}>
                  Edit from here
                </Button>
                <Button
                  size="small"
                  busy={busyVersion === version}
                  onClick={() => runAction(version, () => rollBack(version))}
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
