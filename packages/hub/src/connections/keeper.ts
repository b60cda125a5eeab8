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

interface Working {
  abort: AbortController;
  /** When this and all former visits of the connection have ended. */
  ended: Promise<void>;
}

/** The number of connections that one transaction leases, since it reads their offers, up to 4 MiB each. */
const LEASE_BATCH = 8;

export function createKeeper(options: KeeperOptions): Keeper {
  const { store, by, timers, random = Math.random, callbackUrl, onError } = options;
  const { leaseMs = 30_000, concurrency = 128 } = options;
  const visit = createVisit({ ...options, context: { now: timers.now, random, callbackUrl } });
  const working = new Map<string, Working>();

  const begin = (leased: LeasedConnection): Promise<void> => {
    const { id } = leased.connection;
    const former = working.get(id);
    const abort = new AbortController();
    const ended = (former ? leaseAgain(leased, former, abort.signal) : visit(leased, abort.signal))
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
  /**
   * The lease has expired during a visit, for example after a suspension of the machine, and this
   * process has leased the connection again. The rows may change until the visit has ended, so they
   * are read again then.
   */
  const leaseAgain = async (
    { connection: { id, revision } }: LeasedConnection,
    former: Working,
    signal: AbortSignal,
  ): Promise<void> => {
    former.abort.abort();
    await former.ended;
    const now = timers.now();
    if (!signal.aborted) await store.finishConnection(by, { id, revision, next_at: now }, [], now);
  };
  const heartbeat = createHeartbeat({
    leaseMs,
    timers,
    heldIds: () => [...working.keys()],
    async renew(ids, lease) {
      const renewed = new Map(working);
      const held = new Set(await store.renewConnections({ by, ...lease }, ids));
      for (const id of ids) if (!held.has(id)) renewed.get(id)?.abort.abort();
    },
    onError,
  });
  const loop = createClaimLoop<LeasedConnection>({
    timers,
    freeCapacity: () => Math.min(LEASE_BATCH, concurrency - working.size),
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
