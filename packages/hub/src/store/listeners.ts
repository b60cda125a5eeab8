import type { Notice } from "./sql.ts";

/** Listeners of notices. An exception in one is rethrown in a microtask, so that all are called. */
export function createListeners() {
  const listeners = new Set<(notice: Notice) => void>();
  return {
    subscribe(listener: (notice: Notice) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    notify(notices: readonly Notice[]): void {
      for (const notice of notices)
        for (const listener of listeners) {
          try {
            listener(notice);
          } catch (error) {
            queueMicrotask(() => {
              throw error;
            });
          }
        }
    },
  };
}
