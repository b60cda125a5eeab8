/**
 * Sends stored events to all followers. Each follower gets every event after its cursor once, in
 * order. The feed has no buffer per follower, only a cursor. While a connection is full, the feed does
 * not write to it. When the connection drains, the feed continues from the cursor, with events from the
 * shared cache (the tail) or from the log. So a slow client does not slow down other followers.
 */
import type { Notice } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import type { EventRow } from "../model.ts";
import { openTail, type Tail } from "./tail.ts";

export interface Filter {
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
}

/**
 * Why a follower cannot get all events after its cursor. `pruned`: retention has removed some of
 * them. `ahead`: the log ended before the cursor (the database was wiped, replaced or restored, or has failed
 * over to a standby without the newest events).
 */
export type Truncation = "pruned" | "ahead";

/** Receives the events of a follower. */
interface Sink {
  /**
   * Called once, before the first event, with the cursor from which the follower starts. The feed advances
   * this map, also past events that the filter excludes.
   */
  start?(cursor: ReadonlyMap<string, number>): void;
  event(event: EventRow, cursor: ReadonlyMap<string, number>): void;
  /**
   * Called after `start`, and again if the log loses events that the follower has received. After `pruned`
   * the follower gets the remaining events, after `ahead` only new events.
   */
  truncated(tenant: string, reason: Truncation): void;
  /** While true, the sink gets no events. Call `resume` when the connection drains. */
  isFull(): boolean;
}

interface FollowOptions {
  tenants: readonly string[];
  /** For each tenant, the last `seq` that the client received; other tenants start with new events. */
  after: ReadonlyMap<string, number>;
  /**
   * The database has failed over since the client got `after`, so the log may have lost events before it. The
   * client is notified in any case.
   */
  isBeforeFailover?: boolean;
  filter: Filter;
  sink: Sink;
}

export interface Follower {
  /** For each tenant, the last `seq` that was delivered or excluded by the filter. */
  readonly cursor: ReadonlyMap<string, number>;
  /** Continues the delivery after the sink was full. */
  resume(): void;
  stop(): void;
}

export interface Feed {
  /** After it resolves, the sink gets every new event. */
  follow(options: FollowOptions): Promise<Follower>;
  close(): void;
}

const PAGE_SIZE = 200;

/** One tenant's log and its followers. */
interface FollowedLog {
  tail: Promise<Tail>;
  followers: Set<LogFollower>;
  isRetrying: boolean;
}

interface LogFollower {
  /** Delivers the available events. */
  pump(): void;
  /** Moves the cursor back to `end`, since the log has lost the events after it. */
  rewind(end: number): void;
}

export function createFeed(
  store: Pick<Store, "getTenant" | "listEvents" | "subscribe">,
  onError: (error: unknown) => void = () => {},
  /** The delay before a failed read of the log is retried. */
  retryMs = 1_000,
): Feed {
  const followedLogs = new Map<string, FollowedLog>();
  let isClosed = false;

  const advance = async (log: FollowedLog, how: "advance" | "verify" = "advance") => {
    const tail = await log.tail.catch(() => undefined); // `follow` rejects with this error
    await tail?.[how]().catch((error: unknown) => {
      onError(error);
      // Without a retry, the events would be delayed until the next notice.
      if (log.isRetrying) return;
      log.isRetrying = true;
      setTimeout(() => {
        log.isRetrying = false;
        if (!isClosed && log.followers.size > 0) void advance(log);
      }, retryMs);
    });
  };
  const invalidate = (log: FollowedLog, ids: readonly string[]) => {
    log.tail.then(
      (tail) => tail.invalidate(ids),
      () => {}, // `follow` rejects with this error
    );
  };
  const unsubscribe = store.subscribe((notice: Notice) => {
    if (notice.topic === "gap")
      for (const log of followedLogs.values()) void advance(log, "verify");
    if (notice.topic !== "events" && notice.topic !== "changed") return;
    const log = followedLogs.get(notice.tenant);
    if (log && notice.topic === "changed") invalidate(log, notice.ids);
    else if (log) void advance(log);
  });

  const join = (tenant: string, follower: LogFollower): FollowedLog => {
    const existing = followedLogs.get(tenant);
    if (existing) {
      existing.followers.add(follower);
      return existing;
    }
    const followers = new Set([follower]);
    const tail = openTail(store, tenant, {
      onNew() {
        for (const { pump } of followers) pump();
      },
      onLost(end) {
        for (const { rewind } of followers) rewind(end);
      },
    });
    const log = { tail, followers, isRetrying: false };
    followedLogs.set(tenant, log);
    // Reads the events that were stored while the tail was being opened.
    void advance(log);
    return log;
  };
  const leave = (tenant: string, log: FollowedLog, follower: LogFollower) => {
    log.followers.delete(follower);
    if (log.followers.size === 0 && followedLogs.get(tenant) === log) followedLogs.delete(tenant);
  };

  return {
    async follow({ tenants, after, isBeforeFailover = false, filter, sink }) {
      const cursor = new Map(after);
      let isStopped = false;

      const deliver = (tenant: string, events: readonly EventRow[]): void => {
        for (const event of events) {
          if (isStopped || sink.isFull()) return;
          cursor.set(tenant, event.seq);
          if (matches(event, filter)) sink.event(event, cursor);
        }
      };
      const followLog = (tenant: string) => {
        let catchingUp: Promise<void> | undefined;
        let tail: Tail | undefined;
        /** Prevents recursion, since a sink may call `resume` within `event`. */
        let isDelivering = false;
        const position = () => cursor.get(tenant) ?? 0;
        /** Set by a `rewind` before `begin`. */
        let rewindTo = Number.POSITIVE_INFINITY;
        const rewind = (end: number) => {
          if (!tail) rewindTo = Math.min(rewindTo, end);
          else if (!isStopped && position() > end) {
            cursor.set(tenant, end);
            sink.truncated(tenant, "ahead");
          }
        };
        const pump = () => {
          if (!tail || isStopped || isClosed || catchingUp || isDelivering || sink.isFull()) return;
          const events = tail.after(position());
          if (events) {
            isDelivering = true;
            try {
              deliver(tenant, events);
            } finally {
              isDelivering = false;
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
        /** Delivers events from the log until the tail has the next one. */
        const catchUp = async (cachedTail: Tail): Promise<void> => {
          while (!isStopped && !sink.isFull()) {
            const from = position();
            if (cachedTail.after(from)) return;
            // `last` is read before the query. An empty page proves only that no events up to `last` remain.
            const { last } = cachedTail;
            const { items } = await store.listEvents({
              tenant,
              order: "oldest",
              cursor: from,
              limit: PAGE_SIZE,
            });
            if (position() !== from) continue; // a rewind
            if (items.length === 0) {
              cursor.set(tenant, Math.min(last, cachedTail.last));
              return;
            }
            deliver(tenant, items);
          }
        };
        const follower = { pump, rewind };
        const log = join(tenant, follower);
        return {
          /** Sets the cursor to the end of the log if the client sent none, or if it is ahead of the log. */
          async locate(): Promise<Truncation | undefined> {
            const { last } = await log.tail;
            const from = cursor.get(tenant);
            if (from === undefined) {
              cursor.set(tenant, last);
              return undefined;
            }
            // Another replica may have delivered events to this client that the tail has not read yet. So
            // the end of the log is read from the store.
            const { seq, pruned_seq } = (await store.getTenant(tenant)) ?? {
              seq: 0,
              pruned_seq: 0,
            };
            if (from <= seq && !isBeforeFailover) return from < pruned_seq ? "pruned" : undefined;
            cursor.set(tenant, Math.min(from, seq));
            return "ahead";
          },
          async begin(): Promise<void> {
            tail = await log.tail;
            rewind(rewindTo);
            pump();
          },
          pump,
          leave: () => leave(tenant, log, follower),
        };
      };

      const logs = tenants.map(followLog);
      const stop = () => {
        isStopped = true;
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
      isClosed = true;
      unsubscribe();
    },
  };
}

const matches = (event: EventRow, { type, repo, source }: Filter): boolean =>
  (type === undefined || event.type === type) &&
  (repo === undefined || event.repo === repo) &&
  (source === undefined || event.source === source);
