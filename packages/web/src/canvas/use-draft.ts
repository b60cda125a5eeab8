/** The draft in the editor: edits it, saves it to the hub, and merges edits of other clients. */

import type { Flow } from "@signalbox/contract";
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { api } from "../api/client.ts";
import { ApiError, toProblem } from "../api/problem.ts";
import { useLive } from "../api/use-live.ts";
import { ago } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { type Autosave, createAutosave, type SaveState } from "./autosave.ts";
import { type EditAction, edit, openGraph } from "./edit-model.ts";
import { toGraph } from "./graph.ts";
import { mergeGraphs, reuseUnchanged, type Side } from "./merge.ts";
import {
  browserStorage,
  deleteUnsaved,
  readUnsaved,
  restoreUnsaved,
  storeUnsaved,
} from "./unsaved.ts";

const classifyError = (error: unknown) => {
  const { status, code } = toProblem(error);
  if (code === "changed") return "conflict";
  return error instanceof ApiError && status < 500 && status !== 429 && status !== 401
    ? "rejected"
    : "failed";
};

const READ_RETRY_MS = 3_000;

const readFlow = (id: string) => api.get("/api/flows/:flow", { params: { flow: id } });

/** Another client has saved a change of values that the unsaved edits change too. */
export interface Conflict {
  /** The flow that the other client has saved. */
  theirs: Flow;
  /** The names of the values. */
  collisions: readonly string[];
}

export function useDraft(loaded: Flow) {
  const { id } = loaded;
  const [state, dispatch] = useReducer(edit, loaded, (flow) => openGraph(toGraph(flow)));
  const [flow, setFlow] = useState(loaded);
  const [saving, setSaving] = useState<SaveState>({ is: "saved" });
  const [savedAt, setSavedAt] = useState<number>();
  const [conflict, setConflict] = useState<Conflict>();
  const [autosave] = useState(() => {
    const created: Autosave = createAutosave({
      loaded: { graph: state.graph, revision: loaded.revision },
      save: async (graph, revision) => {
        const saved = await api.put("/api/flows/:flow", {
          params: { flow: id },
          body: graph,
          ifMatch: revision,
        });
        setFlow(saved);
        return { graph: toGraph(saved), revision: saved.revision };
      },
      schedule: (task, ms) => {
        const timer = setTimeout(task, ms);
        return () => clearTimeout(timer);
      },
      onSaved: (sent, saved) => {
        setSavedAt(Date.now());
        dispatch({ do: "absorb", sent, saved: saved.graph });
      },
      // Also called after the user has left the page, until the draft is saved.
      onState: (next) => {
        setSaving(next);
        if (next.is === "saved") deleteUnsaved(browserStorage(), id);
        else if (next.is !== "pending" && next.is !== "saving")
          storeUnsaved(browserStorage(), id, created.getUnsaved(), Date.now());
      },
      classifyError,
    });
    return created;
  });

  const { graph, absorbed } = state;
  useEffect(() => {
    if (absorbed === graph) autosave.absorb(graph);
    else autosave.handleEdit(graph);
  }, [autosave, graph, absorbed]);

  // Once, before the first edit: restores the edits that an earlier visit could not save.
  const restoredId = useRef("");
  useEffect(() => {
    if (restoredId.current === id) return; // the flow was loaded again
    restoredId.current = id;
    const stored = readUnsaved(browserStorage(), id);
    if (!stored) return;
    const restored = restoreUnsaved(toGraph(loaded), stored);
    if (!restored) {
      deleteUnsaved(browserStorage(), id);
      return;
    }
    dispatch({ do: "replace", graph: restored });
    toasts.add({
      title: "Your unsaved edits were restored",
      detail: `They were made ${ago(new Date(stored.at).toISOString())}. Undo shows the flow without them.`,
    });
  }, [id, loaded]);
  const storeEdits = useCallback(
    () => storeUnsaved(browserStorage(), id, autosave.getUnsaved(), Date.now()),
    [autosave, id],
  );

  useEffect(() => {
    const flush = () => void autosave.flush();
    const onHidden = () => document.visibilityState === "hidden" && flush();
    const onLeave = (event: BeforeUnloadEvent) => {
      if (!autosave.isDirty()) return;
      storeEdits();
      flush();
      event.preventDefault();
    };
    document.addEventListener("visibilitychange", onHidden);
    window.addEventListener("beforeunload", onLeave);
    window.addEventListener("pagehide", storeEdits);
    return () => {
      document.removeEventListener("visibilitychange", onHidden);
      window.removeEventListener("beforeunload", onLeave);
      window.removeEventListener("pagehide", storeEdits);
      storeEdits();
      flush();
    };
  }, [autosave, storeEdits]);

  const latestGraph = useRef(graph);
  latestGraph.current = graph;

  /** Merges the unsaved edits into `theirs`, the flow that the hub has stored now. */
  const adopt = useCallback(
    (theirs: Flow, prefer?: Side) => {
      const base = autosave.base();
      const next = reuseUnchanged(base, toGraph(theirs));
      const merged = mergeGraphs(base, latestGraph.current, next, prefer ?? "mine").graph;
      setFlow(theirs);
      setConflict(undefined);
      autosave.resolve({ graph: next, revision: theirs.revision }, merged);
      dispatch({ do: "rebase", base, theirs: next, ...(prefer && { prefer }) });
    },
    [autosave],
  );

  /** Replaces the draft by `theirs`. Undo restores the former draft. */
  const replaceDraft = useCallback(
    (theirs: Flow) => {
      const next = reuseUnchanged(autosave.base(), toGraph(theirs));
      setFlow(theirs);
      autosave.resolve({ graph: next, revision: theirs.revision }, next);
      dispatch({ do: "replace", graph: next });
    },
    [autosave],
  );

  // The hub has rejected the save, because another client has saved the flow. The edits are merged,
  // unless both have changed the same values: then the user decides.
  const hasConflict = saving.is === "conflict";
  const [attempt, setAttempt] = useState(1);
  useEffect(() => {
    if (!hasConflict) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    readFlow(id).then(
      (theirs) => {
        const { collisions } = mergeGraphs(
          autosave.base(),
          latestGraph.current,
          toGraph(theirs),
          "mine",
        );
        if (collisions.length > 0) setConflict({ theirs, collisions });
        else adopt(theirs);
      },
      (error: unknown) => {
        if (attempt === 1) toastError(error);
        timer = setTimeout(() => setAttempt(attempt + 1), READ_RETRY_MS);
      },
    );
    return () => clearTimeout(timer);
  }, [hasConflict, attempt, autosave, id, adopt]);

  // Loads the flow after another tab or an agent has saved it, or its warnings have changed. If there are
  // unsaved edits, the next save detects the conflict, or returns the warnings, instead.
  const reading = useRef<"no" | "yes" | "again">("no");
  const loadNewer = (): void => {
    if (autosave.isDirty()) return;
    if (reading.current !== "no") {
      reading.current = "again";
      return;
    }
    reading.current = "yes";
    readFlow(id)
      .then((theirs) => {
        if (autosave.isDirty() || theirs.revision < autosave.revision()) return;
        if (theirs.revision > autosave.revision()) adopt(theirs);
        else setFlow(theirs);
      }, toastError)
      .finally(() => {
        const isStale = reading.current === "again";
        reading.current = "no";
        if (isStale) loadNewer();
      });
  };
  useLive(`flows:${id}`, ({ kind, data }) => {
    // A stream that was interrupted may have missed an edit.
    const isGap =
      kind === "connected" ||
      (kind === "change" && data.topic === "flows" && data.ids === undefined);
    const isNewer = kind === "draft" && data.flow === id && data.revision > autosave.revision();
    const hasOtherWarnings = kind === "warnings" && data.flow === id;
    if (isGap || isNewer || hasOtherWarnings) loadNewer();
  });

  return {
    state,
    graph,
    flow,
    saving,
    savedAt,
    conflict,
    autosave,
    dispatch: dispatch as (action: EditAction) => void,
    replaceDraft,
    adopt,
  };
}
export type Draft = ReturnType<typeof useDraft>;
