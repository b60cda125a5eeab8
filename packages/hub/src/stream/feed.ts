/**
 * Fans stored events out to followers. Each follower gets every event after its cursor once, in
 * order. A follower holds only its cursor: while its connection is full the feed does not write to
 * it, and when the connection drains the feed continues from the cursor, from the cached tail or from
 * the log. A slow reader therefore costs other followers neither memory nor time.
 */
import type { Notice } from "../store/sql.ts";
import type { EventRow, Store } from "../store/store.ts";
import { openTail, type Tail } from "./tail.ts";

export interface Filter {
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
}

/**
 * Why a follower cannot get all events after its cursor. `pruned`: retention has removed some of
 * them. `ahead`: the log ends before the cursor (the database was wiped, replaced or restored).
 */
export type Truncation = "pruned" | "ahead";

/** Receives the events of a follower. */
interface Sink {
  /** Called once, before all events, with the cursor from which the follower starts. */
  start?(cursor: ReadonlyMap<string, number>): void;
  event(event: EventRow, cursor: ReadonlyMap<string, number>): void;
  /**
   * Called after `start`. A follower that was `pruned` gets the remaining events; one that was `ahead`
   * gets new events only.
   */
  truncated(tenant: string, reason: Truncation): void;
  /** While true, no events are delivered; call `resume` when the connection drains. */
  isFull(): boolean;
}

interface FollowOptions {
  tenants: readonly string[];
  /** The last `seq` that the client has seen, by tenant; other tenants start with new events. */
  after: ReadonlyMap<string, number>;
  filter: Filter;
  sink: Sink;
}

export interface Follower {
  /** The last `seq` that was delivered or excluded by the filter, by tenant. */
  readonly cursor: ReadonlyMap<string, number>;
  /** Continues after the sink was full. */
  resume(): void;
  stop(): void;
}

export interface Feed {
  /** Resolves when all new events will reach the sink. */
  follow(options: FollowOptions): Promise<Follower>;
  close(): void;
}

const PAGE = 200;

/** One tenant's log and its followers. */
interface FollowedLog {
  tail: Promise<Tail>;
  pumps: Set<() => void>;
  retrying: boolean;
}

export function createFeed(
  store: Pick<Store, "getTenant" | "listEvents" | "subscribe">,
  onError: (error: unknown) => void = () => {},
  /** The delay before a failed read of the log is retried. */
  retryMs = 1_000,
): Feed {
  const followedLogs = new Map<string, FollowedLog>();
  let closed = false;

  const advance = async (log: FollowedLog): Promise<void> => {
    const tail = await log.tail.catch(() => undefined); // `follow` rejects with this error
    await tail?.advance().catch((error: unknown) => {
      onError(error);
      // Without a retry, nothing would be read before the next notice.
      if (log.retrying) return;
      log.retrying = true;
      setTimeout(() => {
        log.retrying = false;
        if (!closed && log.pumps.size > 0) void advance(log);
      }, retryMs);
    });
  };
  const invalidate = (log: FollowedLog, ids?: readonly string[]) => {
    log.tail.then(
      (tail) => tail.invalidate(ids),
      () => {}, // `follow` rejects with this error
    );
  };
  const unsubscribe = store.subscribe((notice: Notice) => {
    if (notice.topic === "gap")
      for (const log of followedLogs.values()) {
        invalidate(log);
        void advance(log);
      }
    if (notice.topic !== "events" && notice.topic !== "changed") return;
    const log = followedLogs.get(notice.tenant);
    if (log && notice.topic === "changed") invalidate(log, notice.ids);
    else if (log) void advance(log);
  });

  const join = (tenant: string, pump: () => void): FollowedLog => {
    const existing = followedLogs.get(tenant);
    existing?.pumps.add(pump);
    if (existing) return existing;
    const pumps = new Set([pump]);
    const tail = openTail(store, tenant, () => {
      for (const each of pumps) each();
    });
    const log = { tail, pumps, retrying: false };
    followedLogs.set(tenant, log);
    // The notices of events that were stored while the tail was opened have passed already.
    void advance(log);
    return log;
  };
  const leave = (tenant: string, log: FollowedLog, pump: () => void) => {
    log.pumps.delete(pump);
    if (log.pumps.size === 0 && followedLogs.get(tenant) === log) followedLogs.delete(tenant);
  };

  return {
    async follow({ tenants, after, filter, sink }) {
      const cursor = new Map(after);
      let stopped = false;

      const deliver = (tenant: string, events: readonly EventRow[]): void => {
        for (const event of events) {
          if (stopped || sink.isFull()) return;
          cursor.set(tenant, event.seq);
          if (matches(event, filter)) sink.event(event, cursor);
        }
      };
      const followLog = (tenant: string) => {
        let catchingUp: Promise<void> | undefined;
        let tail: Tail | undefined;
        /** A sink may call `resume` within `event`. */
        let delivering = false;
        const position = () => cursor.get(tenant) ?? 0;
        const pump = () => {
          if (!tail || stopped || closed || catchingUp || delivering || sink.isFull()) return;
          const events = tail.after(position());
          if (events) {
            delivering = true;
            try {
              deliver(tenant, events);
            } finally {
              delivering = false;
            }
          } else
            catchingUp = catchUp(tail)
              .catch((error: unknown) => {
                onError(error);
                return new Promise<void>((resolve) => setTimeout(resolve, retryMs));
              })
              .finally(() => {
                catchingUp = undefined;
                pump();
              });
        };
        /** Reads the log until the tail's cache contains the next event. */
        const catchUp = async (cachedTail: Tail): Promise<void> => {
          while (!stopped && !sink.isFull()) {
            const from = position();
            if (cachedTail.after(from)) return;
            // Taken before the read: if the page is empty, only events up to here were removed.
            const { last } = cachedTail;
            const { items } = await store.listEvents({
              tenant,
              order: "oldest",
              cursor: from,
              limit: PAGE,
            });
            if (items.length === 0) {
              cursor.set(tenant, last);
              return;
            }
            deliver(tenant, items);
          }
        };
        const log = join(tenant, pump);
        return {
          /** Sets the cursor if the client sent none, or one that is ahead of the log. */
          async locate(): Promise<Truncation | undefined> {
            const { last } = await log.tail;
            const from = cursor.get(tenant);
            if (from === undefined) {
              cursor.set(tenant, last);
              return undefined;
            }
            // From the store: another replica may have delivered events that this tail lacks yet.
            const { seq, pruned_seq } = (await store.getTenant(tenant)) ?? {
              seq: 0,
              pruned_seq: 0,
            };
            if (from <= seq) return from < pruned_seq ? "pruned" : undefined;
            cursor.set(tenant, seq);
            return "ahead";
          },
          async begin(): Promise<void> {
            tail = await log.tail;
            pump();
          },
          pump,
          leave: () => leave(tenant, log, pump),
        };
      };

      const logs = tenants.map(followLog);
      const stop = () => {
        stopped = true;
        for (const { leave } of logs) leave();
      };
      try {
        const truncations = await Promise.all(logs.map(({ locate }) => locate()));
        sink.start?.(cursor);
        for (const [index, reason] of truncations.entries())
          if (reason) sink.truncated(tenants[index] as string, reason);
        await Promise.all(logs.map(({ begin }) => begin()));
      } catch (error) {
        stop();
        throw error;
      }
      return {
        cursor,
        resume() {
          for (const { pump } of logs) pump();
        },
        stop,
      };
    },
    close() {
      closed = true;
      unsubscribe();
    },
  };
}

const matches = (event: EventRow, { type, repo, source }: Filter): boolean =>
  (type === undefined || event.type === type) &&
  (repo === undefined || event.repo === repo) &&
  (source === undefined || event.source === source);
