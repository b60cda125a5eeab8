/**
 * The ids of events to work on: first all claimable events, oldest first, then new events as they
 * arrive. The list is read again from time to time, because claims of crashed workers expire silently.
 */
export interface Candidates {
  /** Ends when `signal` is aborted; with `once`, after the list. Consumers can share it. */
  ids(): AsyncGenerator<string>;
  /** A new event, or one that can be claimed again. */
  add(id: string): void;
  /** Reads the list again: events may have been missed. */
  reload(): void;
}

export interface CandidatesOptions {
  list(): AsyncIterable<{ id: string }>;
  once: boolean;
  signal: AbortSignal;
  reloadMs: number;
}

/** More new events than this are read from the list instead. */
const MAX_ADDED = 1_000;

export function createCandidates(options: CandidatesOptions): Candidates {
  const { list, once, signal, reloadMs } = options;
  let added: string[] = [];
  let mustReload = false;
  let wake = Promise.withResolvers<void>();
  const notify = () => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  signal.addEventListener("abort", notify);

  return {
    async *ids() {
      while (!signal.aborted) {
        // The list contains what was added before.
        added = [];
        mustReload = false;
        let readingMs = 0;
        const items = list()[Symbol.asyncIterator]();
        for (;;) {
          const started = performance.now();
          const { done, value } = await items.next();
          readingMs += performance.now() - started;
          if (done) break;
          yield value.id;
          if (signal.aborted) return;
        }
        if (once) return;
        // A list that takes long is read less often, so that it does not load the hub.
        const delay = Math.max(reloadMs, 20 * readingMs);
        const timer = setTimeout(() => {
          mustReload = true;
          notify();
        }, delay);
        try {
          while (!mustReload && !signal.aborted) {
            const id = added.shift();
            if (id === undefined) await wake.promise;
            else yield id;
          }
        } finally {
          clearTimeout(timer);
        }
      }
    },
    add(id) {
      if (added.length < MAX_ADDED) added.push(id);
      else mustReload = true;
      notify();
    },
    reload() {
      mustReload = true;
      notify();
    },
  };
}
