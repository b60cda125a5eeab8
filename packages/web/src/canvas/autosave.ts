/**
 * Saves the draft after edits, with one request at a time. An empty graph replaces one with nodes only
 * after a confirmation. If another client has saved the flow meanwhile, the hub rejects the request;
 * then nothing is saved until the caller has resolved the conflict.
 */
import type { Graph } from "./graph.ts";

/** A graph that the hub has stored. */
export interface SavedGraph {
  graph: Graph;
  revision: number;
}

export interface UnsavedEdits {
  /** The saved graph on which the edits are based. */
  base: Graph;
  /** The graph with the edits. */
  graph: Graph;
}

export type SaveState =
  | { is: "saved" }
  | { is: "pending" }
  | { is: "saving" }
  /** An outage: saved again after a delay, or after the next edit. */
  | { is: "failed"; error: unknown }
  /** The hub does not accept the graph: saved again only after the next edit. */
  | { is: "rejected"; error: unknown }
  /** The graph has no nodes any more, and waits for a confirmation. */
  | { is: "emptied" }
  | { is: "conflict" };

export interface AutosaveOptions {
  loaded: SavedGraph;
  save: (graph: Graph, revision: number) => Promise<SavedGraph>;
  schedule: (task: () => void, ms: number) => () => void;
  onSaved: (sent: Graph, saved: SavedGraph) => void;
  onState: (state: SaveState) => void;
  /** Returns the state that follows from an error of `save`. */
  classifyError: (error: unknown) => "conflict" | "rejected" | "failed";
}

/** Edits are saved together if they follow each other within this time. */
const DEBOUNCE_MS = 600;
const RETRY_MS = 3_000;

export function createAutosave(options: AutosaveOptions) {
  const { save, schedule, onSaved, onState, classifyError } = options;
  let saved = options.loaded;
  let latest = saved.graph;
  let state: SaveState = { is: "saved" };
  let isEmptyConfirmed = false;
  let cancelScheduled: (() => void) | undefined;
  let request: Promise<void> | undefined;

  const setState = (next: SaveState) => {
    state = next;
    onState(next);
  };
  const scheduleSend = (ms: number) => {
    cancelScheduled?.();
    cancelScheduled = schedule(() => void send(), ms);
  };
  const isDirty = () => latest !== saved.graph;

  async function send(): Promise<void> {
    cancelScheduled?.();
    cancelScheduled = undefined;
    if (request) return request;
    if (!isDirty() || state.is === "conflict") return;
    if (latest.nodes.length === 0 && saved.graph.nodes.length > 0 && !isEmptyConfirmed)
      return setState({ is: "emptied" });
    const sent = latest;
    setState({ is: "saving" });
    request = save(sent, saved.revision).then(
      (result) => {
        request = undefined;
        isEmptyConfirmed = false;
        saved = { graph: sent, revision: result.revision };
        setState({ is: isDirty() ? "pending" : "saved" });
        onSaved(sent, result);
        if (isDirty()) scheduleSend(DEBOUNCE_MS);
      },
      (error: unknown) => {
        request = undefined;
        const kind = classifyError(error);
        setState(kind === "conflict" ? { is: "conflict" } : { is: kind, error });
        if (kind === "failed") scheduleSend(RETRY_MS);
      },
    );
    return request;
  }

  return {
    state: () => state,
    revision: () => saved.revision,
    isDirty,
    /** The saved graph on which unsaved edits are based. */
    base: () => saved.graph,
    /** Undefined if there are no unsaved edits. */
    getUnsaved: (): UnsavedEdits | undefined =>
      isDirty() ? { base: saved.graph, graph: latest } : undefined,
    /** Saves `graph`, the draft after an edit, with a delay. */
    handleEdit(graph: Graph): void {
      latest = graph;
      if (state.is === "conflict") return;
      if (!isDirty()) {
        cancelScheduled?.();
        if (!request && state.is !== "saved") setState({ is: "saved" });
        return;
      }
      if (!request) setState({ is: "pending" });
      scheduleSend(DEBOUNCE_MS);
    },
    /** Replaces the draft by `graph`, whose difference is not an edit: values that the hub has assigned, or a layout. */
    absorb(graph: Graph): void {
      if (!isDirty()) saved = { ...saved, graph };
      latest = graph;
    },
    /** Saves without a delay. */
    async flush(): Promise<void> {
      while (isDirty() && state.is !== "conflict") {
        await send();
        if (state.is !== "pending" && state.is !== "saved") return;
      }
    },
    confirmEmpty(): Promise<void> {
      isEmptyConfirmed = true;
      return send();
    },
    /** Continues with the graph that the hub has stored now, `current`; `graph` is the draft. */
    resolve(current: SavedGraph, graph: Graph): void {
      saved = current;
      latest = graph;
      setState({ is: isDirty() ? "pending" : "saved" });
      if (isDirty()) scheduleSend(0);
    },
  };
}
export type Autosave = ReturnType<typeof createAutosave>;
