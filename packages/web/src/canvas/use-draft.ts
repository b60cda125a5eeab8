/** The draft that is being edited, and how it gets to the hub. */
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { api, path } from "../api/client.ts";
import { ApiError, toProblem } from "../api/problem.ts";
import type { Flow } from "../api/types.ts";
import { useLive } from "../api/use-live.ts";
import { ago } from "../ui/format.ts";
import { toastError, toasts } from "../ui/toast.tsx";
import { type Autosave, createAutosave, type SaveState } from "./autosave.ts";
import { type EditAction, edit, openGraph } from "./edit-model.ts";
import { toGraph } from "./graph.ts";
import { mergeGraphs, reuseUnchanged, type Side } from "./merge.ts";
import {
  browserStorage,
  forgetUnsaved,
  keepUnsaved,
  readUnsaved,
  restoreUnsaved,
} from "./unsaved.ts";

const judge = (error: unknown) => {
  const { status, code } = toProblem(error);
  if (code === "changed") return "conflict";
  return error instanceof ApiError && status < 500 && status !== 429 && status !== 401
    ? "rejected"
    : "failed";
};

const READ_AGAIN_MS = 3_000;

const readFlow = (id: string) => api.get<Flow>(path`/api/flows/${id}`);

/** Another edit has changed the same values as one that is not saved yet. */
export interface Conflict {
  theirs: Flow;
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
        const saved = await api.put<Flow>(path`/api/flows/${id}`, graph, { ifMatch: revision });
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
      // Also called after the page was left, until the draft is saved.
      onState: (next) => {
        setSaving(next);
        if (next.is === "saved") forgetUnsaved(browserStorage(), id);
        else if (next.is !== "pending" && next.is !== "saving")
          keepUnsaved(browserStorage(), id, created.unsaved(), Date.now());
      },
      judge,
    });
    return created;
  });

  const { graph, absorbed } = state;
  useEffect(() => {
    if (absorbed === graph) autosave.absorbed(graph);
    else autosave.edited(graph);
  }, [autosave, graph, absorbed]);

  // Once, before the first edit: what a former visit could not save.
  const restoredId = useRef("");
  useEffect(() => {
    if (restoredId.current === id) return; // the flow was loaded again
    restoredId.current = id;
    const kept = readUnsaved(browserStorage(), id);
    if (!kept) return;
    const restored = restoreUnsaved(toGraph(loaded), kept);
    if (!restored) {
      forgetUnsaved(browserStorage(), id);
      return;
    }
    dispatch({ do: "replace", graph: restored });
    toasts.add({
      title: "Your unsaved edits are back",
      detail: `They were made ${ago(new Date(kept.at).toISOString())}. Undo shows the flow without them.`,
    });
  }, [id, loaded]);
  const keep = useCallback(
    () => keepUnsaved(browserStorage(), id, autosave.unsaved(), Date.now()),
    [autosave, id],
  );

  useEffect(() => {
    const flush = () => void autosave.flush();
    const onHidden = () => document.visibilityState === "hidden" && flush();
    const onLeave = (event: BeforeUnloadEvent) => {
      if (!autosave.isDirty()) return;
      keep();
      flush();
      event.preventDefault();
    };
    document.addEventListener("visibilitychange", onHidden);
    window.addEventListener("beforeunload", onLeave);
    window.addEventListener("pagehide", keep);
    return () => {
      document.removeEventListener("visibilitychange", onHidden);
      window.removeEventListener("beforeunload", onLeave);
      window.removeEventListener("pagehide", keep);
      keep();
      flush();
    };
  }, [autosave, keep]);

  const latest = useRef(graph);
  latest.current = graph;

  /** Puts own edits on top of what the hub has now. */
  const adopt = useCallback(
    (theirs: Flow, prefer?: Side) => {
      const base = autosave.base();
      const next = reuseUnchanged(base, toGraph(theirs));
      const merged = mergeGraphs(base, latest.current, next, prefer ?? "mine").graph;
      setFlow(theirs);
      setConflict(undefined);
      autosave.resolve({ graph: next, revision: theirs.revision }, merged);
      dispatch({ do: "rebase", base, theirs: next, ...(prefer && { prefer }) });
    },
    [autosave],
  );

  /** Shows what the hub has; what was here before is one step back. */
  const showTheirs = useCallback(
    (theirs: Flow) => {
      const next = reuseUnchanged(autosave.base(), toGraph(theirs));
      setFlow(theirs);
      autosave.resolve({ graph: next, revision: theirs.revision }, next);
      dispatch({ do: "replace", graph: next });
    },
    [autosave],
  );

  // The hub has refused to overwrite another edit: joined with it, unless the same values differ.
  const isRefused = saving.is === "conflict";
  const [attempt, setAttempt] = useState(1);
  useEffect(() => {
    if (!isRefused) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    readFlow(id).then(
      (theirs) => {
        const next = toGraph(theirs);
        const { collisions } = mergeGraphs(autosave.base(), latest.current, next, "mine");
        if (collisions.length > 0) setConflict({ theirs, collisions });
        else adopt(theirs);
      },
      (error: unknown) => {
        if (attempt === 1) toastError(error);
        timer = setTimeout(() => setAttempt(attempt + 1), READ_AGAIN_MS);
      },
    );
    return () => clearTimeout(timer);
  }, [isRefused, attempt, autosave, id, adopt]);

  // Another tab or an agent has saved. With unsaved edits here, the next save finds out.
  const reading = useRef<"no" | "yes" | "again">("no");
  const check = (): void => {
    if (autosave.isDirty()) return;
    if (reading.current !== "no") {
      reading.current = "again";
      return;
    }
    reading.current = "yes";
    readFlow(id)
      .then((theirs) => {
        if (!autosave.isDirty() && theirs.revision > autosave.revision()) adopt(theirs);
      }, toastError)
      .finally(() => {
        const isStale = reading.current === "again";
        reading.current = "no";
        if (isStale) check();
      });
  };
  useLive(`flows:${id}`, ({ kind, data }) => {
    const message = data as { flow?: string; revision?: number; topic?: string; ids?: string[] };
    // A stream that was interrupted may have missed an edit.
    const isGap =
      kind === "connected" ||
      (kind === "change" && message.topic === "flows" && message.ids === undefined);
    const isNewer =
      kind === "draft" && message.flow === id && (message.revision ?? 0) > autosave.revision();
    if (isGap || isNewer) check();
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
    showTheirs,
    adopt,
  };
}
export type Draft = ReturnType<typeof useDraft>;
