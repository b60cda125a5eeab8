/**
 * Notifies watchers of changed resources of their tenants. Notifications are throttled: the first one
 * is sent immediately, then at most one per second and resource. While a watcher's connection is
 * full, changes are kept and sent later, so the last change is never lost.
 */
import type { Notice } from "../store/sql.ts";
import type { Store } from "../store/store.ts";

export const INBOX_URI = "signalbox://inbox";
export const EVENT_URIS = "signalbox://events/";

interface Watch {
  tenants: readonly string[];
  /** The watched resources; may change at any time. */
  uris: ReadonlySet<string>;
  notify(uri: string): void;
  /** While true, changes are kept until `resume` is called. */
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

const THROTTLE_MS = 1_000;

type MarkChanged = (uris: Iterable<string>) => void;

/** Maps a notice of the store to the resources that it changes. */
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
  const watching = new Map<string, Map<Watch, MarkChanged>>();

  const unsubscribe = store.subscribe((notice: Notice) => {
    if (notice.topic === "gap") {
      // Notices were missed: any resource may have changed.
      for (const watches of watching.values())
        for (const [{ uris }, markChanged] of watches) markChanged(uris);
      return;
    }
    const changed = changesIn(notice);
    const watches = changed && watching.get(changed.tenant);
    if (!watches) return;
    for (const markChanged of watches.values()) markChanged(changed.uris);
  });

  return {
    watch(watch) {
      /** A subset of `watch.uris`. */
      const changed = new Set<string>();
      let notifiedAt = Number.NEGATIVE_INFINITY;
      let timer: ReturnType<typeof setTimeout> | undefined;

      const schedule = () => {
        if (timer !== undefined || changed.size === 0 || watch.isFull()) return;
        const wait = Math.min(notifiedAt + THROTTLE_MS - now(), THROTTLE_MS);
        if (wait <= 0) return notify();
        timer = setTimeout(() => {
          timer = undefined;
          if (!watch.isFull()) notify();
        }, wait);
      };
      const notify = () => {
        const uris = [...changed].filter((uri) => watch.uris.has(uri));
        changed.clear();
        if (uris.length === 0) return;
        notifiedAt = now();
        for (const uri of uris) watch.notify(uri);
      };
      const markChanged: MarkChanged = (uris) => {
        for (const uri of uris) if (watch.uris.has(uri)) changed.add(uri);
        schedule();
      };

      for (const tenant of watch.tenants) {
        const watches = watching.get(tenant) ?? new Map<Watch, MarkChanged>();
        watching.set(tenant, watches.set(watch, markChanged));
      }
      return {
        resume: schedule,
        stop() {
          clearTimeout(timer);
          for (const tenant of watch.tenants) {
            const watches = watching.get(tenant);
            watches?.delete(watch);
            if (watches?.size === 0) watching.delete(tenant);
          }
        },
      };
    },
    close: unsubscribe,
  };
}
