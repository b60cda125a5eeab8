/** The messages that are shown now. Errors stay until they are dismissed; others leave by themselves. */
import type { Aspect } from "./signal-head.tsx";

export interface Toast {
  id: number;
  aspect?: Aspect;
  title: string;
  detail?: string;
  undo?: () => void;
}

const SHOWN_MS = 5_000;
/** Longer, so that there is time to read and to decide. */
const UNDO_MS = 10_000;
const MAX_SHOWN = 4;

export function createToasts({
  schedule,
}: {
  schedule: (task: () => void, ms: number) => () => void;
}) {
  let shown: readonly Toast[] = [];
  let last = 0;
  const cancels = new Map<number, () => void>();
  const listeners = new Set<() => void>();
  const set = (toasts: readonly Toast[]) => {
    shown = toasts;
    for (const listener of listeners) listener();
  };
  const remove = (id: number) => {
    cancels.get(id)?.();
    cancels.delete(id);
    set(shown.filter((toast) => toast.id !== id));
  };
  return {
    list: () => shown,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    remove,
    add(toast: Omit<Toast, "id">): number {
      last += 1;
      const id = last;
      set([...shown, { ...toast, id }].slice(-MAX_SHOWN));
      if (toast.aspect !== "red")
        cancels.set(
          id,
          schedule(() => remove(id), toast.undo ? UNDO_MS : SHOWN_MS),
        );
      return id;
    },
  };
}
