/** Publishes the draft: shows the changes, errors and warnings, and asks for a note. */

import type { Flow } from "@signalbox/contract";
import { useState } from "react";
import { api } from "../api/client.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, TextArea } from "../ui/field.tsx";
import { toastError, toasts } from "../ui/toast.tsx";
import { changesOf, type Diff } from "./diff.ts";
import type { Graph } from "./graph.ts";
import { saveFirst } from "./save-first.ts";
import type { Draft } from "./use-draft.ts";

export function PublishDialog({
  draft: { flow, graph, autosave, saving, adopt },
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
  const isUnchanged = flow.version !== null && diff?.count === 0;
  const publish = async () => {
    setBusy(true);
    try {
      if (!(await saveFirst(autosave))) return;
      const published = await api.post("/api/flows/:flow/publish", {
        params: { flow: flow.id },
        body: { note },
        ifMatch: autosave.revision(),
      });
      adopt(published);
      toasts.add({ aspect: "green", title: `Published v${published.version}` });
      onClose();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Publish v${(flow.version ?? 0) + 1}`}
      description="Runs that have started continue with their version."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            busy={isBusy}
            disabled={isUnchanged || errors.length > 0 || saving.is === "conflict"}
            onClick={() => void publish()}
          >
            Publish
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {diff && (
          <section aria-label="Changes">
            <h3 className="mb-1 type-label text-ink-2">
              {flow.version === null ? "New" : `Since v${flow.version}`}
            </h3>
            <Changes diff={diff} graph={graph} />
          </section>
        )}
        <Findings title="Must be fixed first" tone="text-red" list={errors} onShow={onShow} />
        <Findings title="Warnings" tone="text-amber" list={warnings} onShow={onShow} />
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

function Changes({ diff, graph }: { diff: Diff; graph: Graph }) {
  const changes = changesOf(graph, diff);
  if (changes.length === 0) return <p className="text-ink-2">Nothing has changed.</p>;
  return (
    <ul className="max-h-[24vh] overflow-y-auto">
      {changes.map(({ key, change, label, fields }) => (
        <li key={key} className="flex gap-2">
          <span className="w-16 flex-none text-ink-3">{change}</span>
          <span className="wrap-anywhere min-w-0">
            {label} {fields.length > 0 && <code className="text-ink-3">{fields.join(", ")}</code>}
          </span>
        </li>
      ))}
    </ul>
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
        {list.map(({ node_id, path: field, message }) => (
          <li key={`${node_id} ${field} ${message}`} className="wrap-anywhere">
            {node_id ? (
              <button type="button" className="text-left underline" onClick={() => onShow(node_id)}>
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
