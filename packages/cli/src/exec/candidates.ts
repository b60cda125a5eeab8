/**
 * Yields the ids of events to work on: first all claimable events, oldest first, then new events as they
 * arrive. The list of claimable events is read again from time to time, because the hub does not notify
 * workers when the claim of a crashed worker expires.
 */
export interface Candidates {
  /**
   * Ends when `signal` is aborted; with `once`, after the list. Several consumers can share the
   * generator.
   */
  ids(): AsyncGenerator<string>;
  /** Adds a new event, or one that can be claimed again. */
  add(id: string): void;
  /** Reads the list again, because events may have been missed. */
  reload(): void;
}

export interface CandidatesOptions {
  list(): AsyncIterable<{ id: string }>;
  once: boolean;
  signal: AbortSignal;
  reloadMs: number;
}

/** Limits the memory for added events. If more are added, the list is read again instead. */
const MAX_ADDED = 1_000;

export function createCandidates(options: CandidatesOptions): Candidates {
  const { list, once, signal, reloadMs } = options;
  let added: string[] = [];
  let mustReload = false;
  let change = Promise.withResolvers<void>();
  const notify = () => {
    change.resolve();
    change = Promise.withResolvers();
  };
  signal.addEventListener("abort", notify);

  return {
    async *ids() {
      while (!signal.aborted) {
        // The list contains all events that were added before.
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
        // Reading the list takes at most about 5 % of the time, to limit the load of the hub.
        const delay = Math.max(reloadMs, 20 * readingMs);
        const timer = setTimeout(() => {
          mustReload = true;
          notify();
        }, delay);
        try {
          while (!mustReload && !signal.aborted) {
            const id = added.shift();
            if (id === undefined) await change.promise;
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
