/**
 * Who is told that the inbox, or an event in it, has changed. A change of a tenant's log reaches
 * those who watch that tenant, and nobody else. A burst is told at once and then once a second, and
 * whoever cannot be told just now is told later: the last change is never the one that is lost.
 */
import type { Notice } from "../store/sql.ts";
import type { Store } from "../store/store.ts";

export const INBOX_URI = "signalbox://inbox";
export const EVENT_URIS = "signalbox://events/";

interface Watch {
  tenants: readonly string[];
  /** Which resources are of interest; may change at any time. */
  uris: ReadonlySet<string>;
  tell(uri: string): void;
  /** Nobody reads: what changes is kept until `resume` is called. */
  isFull(): boolean;
}

export interface Watcher {
  resume(): void;
  stop(): void;
}

export interface ResourceChanges {
  watch(watch: Watch): Watcher;
  close(): void;
}

const EVERY_MS = 1_000;

type Mark = (uris: Iterable<string>) => void;

/** Whose resources a notice changes, and which. */
export type ChangesIn = (notice: Notice) => { tenant: string; uris: string[] } | undefined;

const inboxChanges: ChangesIn = (notice) => {
  if (notice.topic !== "events" && notice.topic !== "changed") return undefined;
  const ids = notice.topic === "changed" ? notice.ids : [];
  return { tenant: notice.tenant, uris: [INBOX_URI, ...ids.map((id) => EVENT_URIS + id)] };
};

export function createResourceChanges(
  store: Pick<Store, "subscribe">,
  now: () => number,
  changesIn: ChangesIn = inboxChanges,
): ResourceChanges {
  const watching = new Map<string, Map<Watch, Mark>>();

  const unsubscribe = store.subscribe((notice: Notice) => {
    if (notice.topic === "gap") {
      // Anything may have changed meanwhile.
      for (const marks of watching.values()) for (const [{ uris }, mark] of marks) mark(uris);
      return;
    }
    const changed = changesIn(notice);
    const marks = changed && watching.get(changed.tenant);
    if (!marks) return;
    for (const mark of marks.values()) mark(changed.uris);
  });

  return {
    watch(watch) {
      /** At most as many as are of interest. */
      const changed = new Set<string>();
      let toldAt = Number.NEGATIVE_INFINITY;
      let timer: ReturnType<typeof setTimeout> | undefined;

      const tellSoon = () => {
        if (timer !== undefined || changed.size === 0 || watch.isFull()) return;
        const wait = Math.min(toldAt + EVERY_MS - now(), EVERY_MS);
        if (wait <= 0) return tell();
        timer = setTimeout(() => {
          timer = undefined;
          if (!watch.isFull()) tell();
        }, wait);
      };
      const tell = () => {
        const uris = [...changed].filter((uri) => watch.uris.has(uri));
        changed.clear();
        if (uris.length === 0) return;
        toldAt = now();
        for (const uri of uris) watch.tell(uri);
      };
      const mark: Mark = (uris) => {
        for (const uri of uris) if (watch.uris.has(uri)) changed.add(uri);
        tellSoon();
      };

      for (const tenant of watch.tenants) {
        const marks = watching.get(tenant) ?? new Map<Watch, Mark>();
        watching.set(tenant, marks.set(watch, mark));
      }
      return {
        resume: tellSoon,
        stop() {
          clearTimeout(timer);
          for (const tenant of watch.tenants) {
            const marks = watching.get(tenant);
            marks?.delete(watch);
            if (marks?.size === 0) watching.delete(tenant);
          }
        },
      };
    },
    close: unsubscribe,
  };
}
