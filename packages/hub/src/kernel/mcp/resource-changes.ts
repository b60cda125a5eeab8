/**
 * Notifies clients of changed resources. The notifications of each watch are throttled: the first
 * change is sent immediately, further ones in at most one batch per second. While the connection is
 * full, changes are kept and sent later, so the last change is never lost.
 */

import type { Engine } from "../store/engine.ts";
import type { Notice } from "../store/sql.ts";

export const INBOX_URI = "signalbox://inbox";
export const EVENT_URI_PREFIX = "signalbox://events/";

interface WatchOptions {
  tenants: readonly string[];
  /** The watched resources; may change at any time. */
  uris: ReadonlySet<string>;
  notify(uri: string): void;
  /** While true, changes are kept until `resume` is called. */
  isFull(): boolean;
}

export interface Watch {
  resume(): void;
  stop(): void;
}

export interface ResourceChanges {
  watch(options: WatchOptions): Watch;
  /** Unsubscribes from the store. Open watches must be stopped by their owners. */
  close(): void;
}

const THROTTLE_MS = 1_000;

type MarkChanged = (uris: Iterable<string>) => void;

/** Maps a notice of the store to the resources that it changes. */
export type ChangesIn = (notice: Notice) => { tenant: string; uris: string[] } | undefined;

const inboxChanges: ChangesIn = (notice) => {
  if (notice.topic !== "events" && notice.topic !== "changed") return undefined;
  const ids = notice.topic === "changed" ? notice.ids : [];
  return { tenant: notice.tenant, uris: [INBOX_URI, ...ids.map((id) => EVENT_URI_PREFIX + id)] };
};

export function createResourceChanges(
  store: Pick<Engine, "subscribe">,
  now: () => number,
  changesIn: ChangesIn = inboxChanges,
): ResourceChanges {
  const watchesByTenant = new Map<string, Map<WatchOptions, MarkChanged>>();

  const unsubscribe = store.subscribe((notice: Notice) => {
    if (notice.topic === "gap") {
      // Notices were missed: any resource may have changed.
      for (const watches of watchesByTenant.values())
        for (const [{ uris }, markChanged] of watches) markChanged(uris);
      return;
    }
    const changed = changesIn(notice);
    const watches = changed && watchesByTenant.get(changed.tenant);
    if (!watches) return;
    for (const markChanged of watches.values()) markChanged(changed.uris);
  });

  return {
    watch(options) {
      /** The watched URIs whose change has not been sent yet. */
      const unsentUris = new Set<string>();
      let notifiedAt = Number.NEGATIVE_INFINITY;
      let timer: ReturnType<typeof setTimeout> | undefined;

      const schedule = () => {
        if (timer !== undefined || unsentUris.size === 0 || options.isFull()) return;
        const wait = Math.min(notifiedAt + THROTTLE_MS - now(), THROTTLE_MS);
        if (wait <= 0) return notify();
        timer = setTimeout(() => {
          timer = undefined;
          if (!options.isFull()) notify();
        }, wait);
      };
      const notify = () => {
        const uris = [...unsentUris].filter((uri) => options.uris.has(uri));
        unsentUris.clear();
        if (uris.length === 0) return;
        notifiedAt = now();
        for (const uri of uris) options.notify(uri);
      };
      const markChanged: MarkChanged = (uris) => {
        for (const uri of uris) if (options.uris.has(uri)) unsentUris.add(uri);
        schedule();
      };

      for (const tenant of options.tenants) {
        const watches = watchesByTenant.get(tenant) ?? new Map<WatchOptions, MarkChanged>();
        watchesByTenant.set(tenant, watches.set(options, markChanged));
      }
      return {
        resume: schedule,
        stop() {
          clearTimeout(timer);
          for (const tenant of options.tenants) {
            const watches = watchesByTenant.get(tenant);
            watches?.delete(options);
            if (watches?.size === 0) watchesByTenant.delete(tenant);
          }
        },
      };
    },
    close: unsubscribe,
  };
}
