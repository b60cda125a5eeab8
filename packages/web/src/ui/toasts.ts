/**
 * The messages that are shown. Errors stay until the user dismisses them, and others are removed after
 * some seconds. If there are too many, the oldest is removed.
 */
import type { Aspect } from "./signal-head.tsx";

export interface Toast {
  id: number;
  aspect?: Aspect;
  title: string;
  detail?: string;
  undo?: () => void;
}

const SHOWN_MS = 5_000;
/** Longer, because the user must decide whether to undo. */
const UNDO_MS = 10_000;
const MAX_SHOWN = 4;

export function createToasts({
  schedule,
}: {
  schedule: (task: () => void, ms: number) => () => void;
}) {
  let shown: readonly Toast[] = [];
  let lastId = 0;
  /** Cancel the scheduled removals, by the id of the toast. */
  const cancels = new Map<number, () => void>();
  const listeners = new Set<() => void>();
  const setShown = (toasts: readonly Toast[]) => {
    shown = toasts;
    for (const listener of listeners) listener();
  };
  const remove = (id: number) => {
    cancels.get(id)?.();
    cancels.delete(id);
    setShown(shown.filter((toast) => toast.id !== id));
  };
  return {
    list: () => shown,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    remove,
    add(toast: Omit<Toast, "id">): number {
      lastId += 1;
      const id = lastId;
      setShown([...shown, { ...toast, id }].slice(-MAX_SHOWN));
      if (toast.aspect !== "red")
        cancels.set(
          id,
          schedule(() => remove(id), toast.undo ? UNDO_MS : SHOWN_MS),
        );
      return id;
    },
  };
}
