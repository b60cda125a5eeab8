/**
 * Keeps connections and their subscriptions in the wanted state. It checks each connection from time
 * to time, and reconciles and polls its subscriptions when they are due.
 *
 * The connections in the store are the queue. Each process leases those that are due, and visits them
 * concurrently. If a process crashes, its leases expire, and other processes lease its connections.
 */

import { createClaimLoop } from "../kernel/lib/claim-loop.ts";
import { createHeartbeat } from "../kernel/lib/heartbeat.ts";
import type { Log } from "../kernel/lib/log.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Notice } from "../kernel/store/sql.ts";
import type { Store } from "../store.ts";
import type { LeasedConnection } from "./model.ts";
import { createVisit, type VisitOptions } from "./visit.ts";

export interface KeeperOptions extends Omit<VisitOptions, "context" | "by"> {
  store: Store;
  /** The holder of the leases: a new id for each start of the process. */
  by: string;
  timers: Timers;
  /** The URL to which servers send callbacks. */
  callbackUrl: string;
  random?: () => number;
  log: Log;
  leaseMs?: number;
  /** The maximum number of concurrent visits. */
  concurrency?: number;
  onError(error: unknown): void;
}

export interface Keeper {
  /** Aborts the visits in progress, and releases the leases. */
  close(): Promise<void>;
}

interface RunningVisit {
  abort: AbortController;
  /** Resolves when this visit and all previous visits of the connection have ended. */
  ended: Promise<void>;
}

/** One transaction leases at most this many connections, because it also reads their large offers. */
const LEASE_BATCH = 8;

export function createKeeper(options: KeeperOptions): Keeper {
  const { store, by, timers, random = Math.random, callbackUrl, onError } = options;
  const { leaseMs = 30_000, concurrency = 128 } = options;
  const visit = createVisit({ ...options, context: { now: timers.now, random, callbackUrl } });
  const visits = new Map<string, RunningVisit>();

  const begin = (leased: LeasedConnection): Promise<void> => {
    const { id } = leased.connection;
    const previous = visits.get(id);
    const abort = new AbortController();
    const ended = (
      previous ? endPrevious(leased, previous, abort.signal) : visit(leased, abort.signal)
    )
      .catch((error: unknown) => {
        // An aborted visit has lost its lease, or the process is closing.
        if (!abort.signal.aborted) onError(error);
      })
      .finally(() => {
        if (visits.get(id)?.abort === abort) visits.delete(id);
      });
    visits.set(id, { abort, ended });
    heartbeat.start();
    return ended;
  };
  /**
   * Called if this process has leased a connection again while its previous visit still runs. The lease
   * has expired during that visit, for example because the machine was suspended. The previous visit
   * can change rows until it ends, so the rows of the new lease may be outdated. They are not used: the
   * connection becomes due again, and the next lease reads current rows.
   */
  const endPrevious = async (
    { connection: { id, revision } }: LeasedConnection,
    previous: RunningVisit,
    signal: AbortSignal,
  ): Promise<void> => {
    previous.abort.abort();
    await previous.ended;
    const now = timers.now();
    if (!signal.aborted) await store.finishConnection(by, { id, revision, next_at: now }, [], now);
  };
  const heartbeat = createHeartbeat({
    leaseMs,
    timers,
    heldIds: () => [...visits.keys()],
    async renew(ids, lease) {
      const visitsBefore = new Map(visits);
      const stillHeld = new Set(await store.renewConnections({ by, ...lease }, ids));
      for (const id of ids) if (!stillHeld.has(id)) visitsBefore.get(id)?.abort.abort();
    },
    onError,
  });
  const loop = createClaimLoop<LeasedConnection>({
    timers,
    freeCapacity: () => Math.min(LEASE_BATCH, concurrency - visits.size),
    claim(limit) {
      const now = timers.now();
      return store.leaseConnections({ by, now, until: now + leaseMs, limit });
    },
    nextDue: store.nextConnectionDue,
    begin,
    onError,
  });
  const onNotice = (notice: Notice) => {
    if (notice.topic === "connections") loop.claimAt(notice.due);
    else if (notice.topic === "gap") loop.claimDue();
  };
  const unsubscribe = store.subscribe(onNotice, ["connections", "gap"]);
  loop.claimDue();

  return {
    async close() {
      unsubscribe();
      await loop.close();
      heartbeat.stop();
      for (const { abort } of visits.values()) abort.abort();
      await Promise.all([...visits.values()].map(({ ended }) => ended));
      await store.releaseConnections(by);
    },
  };
}
