/** Publishing: what changes, what is wrong, and a note for the list of versions. */
import { useState } from "react";
import { api, path } from "../api/client.ts";
import type { Flow } from "../api/types.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, TextArea } from "../ui/field.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import type { Diff } from "./diff.ts";
import type { Draft } from "./use-draft.ts";

export function PublishDialog({
  draft: { flow, graph, autosave, saving, showTheirs },
  diff,
  onClose,
  onShow,
}: {
  draft: Draft;
  diff: Diff | undefined;
  onClose: () => void;
  onShow: (node: string) => void;
}) {
  const [note, setNote] = useState("");
  const [isBusy, setBusy] = useState(false);
  const { errors, warnings } = flow;
  const publish = async () => {
    setBusy(true);
    try {
      await autosave.flush();
      if (autosave.isDirty()) return;
      const published = await api.post<Flow>(
        path`/api/flows/${flow.id}/publish`,
        { note },
        { ifMatch: autosave.revision() },
      );
      showTheirs(published);
      toasts.add({ aspect: "green", title: `Published v${published.version}` });
      onClose();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const names = new Map(
    [...(diff?.removed ?? []), ...graph.nodes].map(({ id, name }) => [id, name]),
  );
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Publish v${(flow.version ?? 0) + 1}`}
      description="Runs that are under way stay on their version."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            busy={isBusy}
            disabled={errors.length > 0 || saving.is === "conflict"}
            onClick={() => void publish()}
          >
            Publish
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {diff && diff.nodes.size > 0 && (
          <section aria-label="Changes">
            <h3 className="mb-1 type-label text-ink-2">
              {flow.version === null ? "New" : `Since v${flow.version}`}
            </h3>
            <ul>
              {[...diff.nodes].map(([id, change]) => (
                <li key={id} className="flex gap-2">
                  <span className="w-16 text-ink-3">{change}</span>
                  <span className="truncate">{names.get(id) ?? id}</span>
                </li>
              ))}
            </ul>
          </section>
        )}
        <Findings title="Must be fixed first" tone="text-red" list={errors} onShow={onShow} />
        <Findings title="Worth a look" tone="text-amber" list={warnings} onShow={onShow} />
        <Field label="Note" hint="Shown in the list of versions.">
          {(control) => (
            <TextArea
              {...control}
              value={note}
              maxLength={1000}
              onChange={({ target }) => setNote(target.value)}
            />
          )}
        </Field>
      </div>
    </Dialog>
  );
}

function Findings({
  title,
  tone,
  list,
  onShow,
}: {
  title: string;
  tone: string;
  list: Flow["errors"];
  onShow: (node: string) => void;
}) {
  if (list.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3 className="mb-1 type-label text-ink-2">{title}</h3>
      <ul className={tone}>
        {list.map(({ nodeId, path: at, message }) => (
          <li key={`${nodeId} ${at} ${message}`} className="wrap-anywhere">
            {nodeId ? (
              <button type="button" className="text-left underline" onClick={() => onShow(nodeId)}>
                {message}
              </button>
            ) : (
              message
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
