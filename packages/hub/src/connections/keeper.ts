/**
 * Keeps connections and their subscriptions in the wanted state. It checks each connection from time
 * to time, and reconciles and polls its subscriptions when they are due.
 *
 * The rows are the queue: several processes share the connections by leases, and when one of them ends,
 * another continues when the lease has expired. Connections are worked on concurrently.
 */
import { createClaimLoop } from "../lib/claim-loop.ts";
import { createHeartbeat } from "../lib/heartbeat.ts";
import type { Log } from "../lib/log.ts";
import type { Timers } from "../lib/timers.ts";
import type { ConnectionStore, LeasedConnection } from "../store/connection-store.ts";
import type { Store } from "../store/store.ts";
import { createVisit, type VisitOptions } from "./visit.ts";

export interface KeeperOptions extends Omit<VisitOptions, "context" | "by"> {
  store: ConnectionStore & Pick<Store, "subscribe">;
  /** The holder of the leases: a new id for each start of the process. */
  by: string;
  timers: Timers;
  /** Where servers send their events. */
  callbackUrl: string;
  random?: () => number;
  log: Log;
  leaseMs?: number;
  /** The maximum number of connections that are worked on concurrently. */
  concurrency?: number;
  onError(error: unknown): void;
}

export interface Keeper {
  /** Aborts the calls in progress, and returns the connections to the other processes. */
  close(): Promise<void>;
}

export function createKeeper(options: KeeperOptions): Keeper {
  const { store, by, timers, random = Math.random, callbackUrl, onError } = options;
  const { leaseMs = 30_000, concurrency = 128 } = options;
  const visit = createVisit({ ...options, context: { now: timers.now, random, callbackUrl } });
  const working = new Map<string, { abort: AbortController; ended: Promise<void> }>();

  const begin = ({ connection, ...leased }: LeasedConnection): Promise<void> => {
    const { id } = connection;
    const abort = new AbortController();
    const ended = visit({ connection, ...leased }, abort.signal)
      .catch((error: unknown) => {
        // An aborted visit has lost its lease, or the process is closing.
        if (!abort.signal.aborted) onError(error);
      })
      .finally(() => {
        if (working.get(id)?.abort === abort) working.delete(id);
      });
    working.set(id, { abort, ended });
    heartbeat.start();
    return ended;
  };
  const heartbeat = createHeartbeat({
    leaseMs,
    timers,
    held: () => [...working.keys()],
    async renew(ids, lease) {
      const held = new Set(await store.renewConnections({ by, ...lease }, ids));
      for (const id of ids) if (!held.has(id)) working.get(id)?.abort.abort();
    },
    onError,
  });
  const loop = createClaimLoop<LeasedConnection>({
    timers,
    free: () => concurrency - working.size,
    claim(limit) {
      const now = timers.now();
      return store.leaseConnections({ by, now, until: now + leaseMs, limit });
    },
    nextDue: store.nextConnectionDue,
    begin,
    onError,
  });
  const unsubscribe = store.subscribe((notice) => {
    if (notice.topic === "connections") loop.claimAt(notice.due);
    else if (notice.topic === "gap") loop.claimDue();
  });
  loop.claimDue();

  return {
    async close() {
      unsubscribe();
      await loop.close();
      heartbeat.stop();
      for (const { abort } of working.values()) abort.abort();
      await Promise.all([...working.values()].map(({ ended }) => ended));
      await store.releaseConnections(by);
    },
  };
}
