import type { Notice } from "./sql.ts";

/** Listeners of notices. If a listener throws, the others are still called; a microtask rethrows. */
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
