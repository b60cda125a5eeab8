/** The draft that is being edited, and how it gets to the hub. */
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import { api, path } from "../api/client.ts";
import { ApiError, toProblem } from "../api/problem.ts";
import type { Flow } from "../api/types.ts";
import { useLive } from "../api/use-live.ts";
import { toastError } from "../ui/toast.tsx";
import { type Autosave, createAutosave, type SaveState } from "./autosave.ts";
import { type EditAction, edit, openGraph } from "./edit-model.ts";
import { type Graph, graphIn } from "./graph.ts";

const judge = (error: unknown) => {
  const { status, code } = toProblem(error);
  if (code === "changed") return "conflict";
  return error instanceof ApiError && status < 500 && status !== 429 && status !== 401
    ? "rejected"
    : "failed";
};

const readFlow = (id: string) => api.get<Flow>(path`/api/flows/${id}`);

export function useDraft(loaded: Flow) {
  const { id } = loaded;
  const [state, dispatch] = useReducer(edit, loaded, (flow) => openGraph(graphIn(flow)));
  const [flow, setFlow] = useState(loaded);
  const [saving, setSaving] = useState<SaveState>({ is: "saved" });
  const [savedAt, setSavedAt] = useState<number>();
  const [autosave] = useState<Autosave>(() =>
    createAutosave({
      loaded: { graph: state.graph, revision: loaded.revision },
      save: async (graph, revision) => {
        const saved = await api.put<Flow>(path`/api/flows/${id}`, graph, { ifMatch: revision });
        setFlow(saved);
        return { graph: graphIn(saved), revision: saved.revision };
      },
      schedule: (task, ms) => {
        const timer = setTimeout(task, ms);
        return () => clearTimeout(timer);
      },
      onSaved: (sent, saved) => {
        setSavedAt(Date.now());
        dispatch({ do: "absorb", sent, saved: saved.graph });
      },
      onState: setSaving,
      judge,
    }),
  );

  const { graph, absorbed } = state;
  useEffect(() => {
    if (absorbed === graph) autosave.absorbed(graph);
    else autosave.edited(graph);
  }, [autosave, graph, absorbed]);

  useEffect(() => {
    const flush = () => void autosave.flush();
    const onHidden = () => document.visibilityState === "hidden" && flush();
    const onLeave = (event: BeforeUnloadEvent) => {
      if (!autosave.isDirty()) return;
      flush();
      event.preventDefault();
    };
    document.addEventListener("visibilitychange", onHidden);
    window.addEventListener("beforeunload", onLeave);
    return () => {
      document.removeEventListener("visibilitychange", onHidden);
      window.removeEventListener("beforeunload", onLeave);
      flush();
    };
  }, [autosave]);

  /** Shows what the hub has; what was here before is one step back. */
  const showTheirs = useCallback(
    (theirs: Flow) => {
      const next = graphIn(theirs);
      setFlow(theirs);
      autosave.resolve({ graph: next, revision: theirs.revision }, next);
      dispatch({ do: "replace", graph: next });
    },
    [autosave],
  );

  // Another tab or an agent has saved: taken over if nothing here is unsaved, else a conflict.
  useLive(`flows:${id}`, ({ kind, data }) => {
    const message = data as { flow?: string; revision?: number };
    if (kind !== "draft" || message.flow !== id) return;
    if ((message.revision ?? 0) <= autosave.revision() || autosave.isDirty()) return;
    readFlow(id).then((theirs) => {
      if (!autosave.isDirty() && theirs.revision > autosave.revision()) showTheirs(theirs);
    }, toastError);
  });

  const latest = useRef(graph);
  latest.current = graph;
  return {
    state,
    graph,
    flow,
    saving,
    savedAt,
    autosave,
    dispatch: dispatch as (action: EditAction) => void,
    showTheirs,
    takeTheirs: () => void readFlow(id).then(showTheirs, toastError),
    keepMine: () =>
      void readFlow(id).then((theirs) => {
        const mine: Graph = latest.current;
        autosave.resolve({ graph: graphIn(theirs), revision: theirs.revision }, mine);
      }, toastError),
  };
}
export type Draft = ReturnType<typeof useDraft>;
