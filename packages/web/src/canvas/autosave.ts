/**
 * Saves the draft after each edit, one request at a time. It begins only after a flow was loaded,
 * replaces a flow by an empty one only if that is confirmed, and never overwrites the edit of
 * another: that is a conflict, which a person decides.
 */
import type { Graph } from "./graph.ts";

export interface Saved {
  graph: Graph;
  revision: number;
}

export interface Unsaved {
  base: Graph;
  graph: Graph;
}

export type SaveState =
  | { is: "saved" }
  | { is: "pending" }
  | { is: "saving" }
  /** Tried again by itself, and with the next edit. */
  | { is: "failed"; error: unknown }
  /** Tried again with the next edit. */
  | { is: "rejected"; error: unknown }
  | { is: "emptied" }
  | { is: "conflict" };

export interface AutosaveOptions {
  loaded: Saved;
  save: (graph: Graph, revision: number) => Promise<Saved>;
  schedule: (task: () => void, ms: number) => () => void;
  onSaved: (sent: Graph, saved: Saved) => void;
  onState: (state: SaveState) => void;
  /** How an error of `save` is to be taken. */
  judge: (error: unknown) => "conflict" | "rejected" | "failed";
}

const SETTLE_MS = 600;
const RETRY_MS = 3_000;

export function createAutosave(options: AutosaveOptions) {
  const { save, schedule, onSaved, onState, judge } = options;
  let saved = options.loaded;
  let latest = saved.graph;
  let state: SaveState = { is: "saved" };
  let mayBeEmpty = false;
  let cancel: (() => void) | undefined;
  let current: Promise<void> | undefined;

  const enter = (next: SaveState) => {
    state = next;
    onState(next);
  };
  const plan = (ms: number) => {
    cancel?.();
    cancel = schedule(() => void send(), ms);
  };
  const isDirty = () => latest !== saved.graph;

  async function send(): Promise<void> {
    cancel?.();
    cancel = undefined;
    if (current) return current;
    if (!isDirty() || state.is === "conflict") return;
    if (latest.nodes.length === 0 && saved.graph.nodes.length > 0 && !mayBeEmpty)
      return enter({ is: "emptied" });
    const sent = latest;
    enter({ is: "saving" });
    current = save(sent, saved.revision).then(
      (result) => {
        current = undefined;
        mayBeEmpty = false;
        saved = { graph: sent, revision: result.revision };
        enter({ is: isDirty() ? "pending" : "saved" });
        onSaved(sent, result);
        if (isDirty()) plan(SETTLE_MS);
      },
      (error: unknown) => {
        current = undefined;
        const kind = judge(error);
        enter(kind === "conflict" ? { is: "conflict" } : { is: kind, error });
        if (kind === "failed") plan(RETRY_MS);
      },
    );
    return current;
  }

  return {
    state: () => state,
    revision: () => saved.revision,
    isDirty,
    /** What the hub has, as far as is known. */
    base: () => saved.graph,
    /** The draft with its unsaved edits, and what they started from; undefined if there are none. */
    unsaved: (): Unsaved | undefined =>
      isDirty() ? { base: saved.graph, graph: latest } : undefined,
    /** The draft as it is now. */
    edited(graph: Graph): void {
      latest = graph;
      if (state.is === "conflict") return;
      if (!isDirty()) {
        cancel?.();
        if (!current && state.is !== "saved") enter({ is: "saved" });
        return;
      }
      if (!current) enter({ is: "pending" });
      plan(SETTLE_MS);
    },
    /** What the hub has assigned is not an edit. */
    absorbed(graph: Graph): void {
      if (!isDirty()) saved = { ...saved, graph };
      latest = graph;
    },
    /** Saves at once. */
    async flush(): Promise<void> {
      while (isDirty() && state.is !== "conflict") {
        await send();
        if (state.is !== "pending" && state.is !== "saved") return;
      }
    },
    confirmEmpty(): Promise<void> {
      mayBeEmpty = true;
      return send();
    },
    /** Continues from what the hub has now; `graph` is what the canvas shows from here on. */
    resolve(now: Saved, graph: Graph): void {
      saved = now;
      latest = graph;
      enter({ is: isDirty() ? "pending" : "saved" });
      if (isDirty()) plan(0);
    },
  };
}
export type Autosave = ReturnType<typeof createAutosave>;
