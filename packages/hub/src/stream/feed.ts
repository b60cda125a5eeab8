/**
 * Live events for everybody who follows: whatever was stored after a follower's cursor reaches it
 * once, in order. A follower holds nothing but its cursor: while its connection is full it is not
 * written to, and goes on from there when there is room again, from memory or from the log. So a
 * slow reader costs nobody else memory or time.
 */
import type { Notice } from "../store/sql.ts";
import type { EventRow, Store } from "../store/store.ts";
import { openTail, type Tail } from "./tail.ts";

export interface Filter {
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
}

/** Where a follower's events go. */
interface Sink {
  event(event: EventRow, cursor: ReadonlyMap<string, number>): void;
  /** Events between the cursor and what is left have been removed by retention. */
  truncated(tenant: string): void;
  /** No room until `resume` is called. */
  isFull(): boolean;
}

interface FollowOptions {
  tenants: readonly string[];
  /** The last place that was seen, by tenant; a tenant without one starts now. */
  after: ReadonlyMap<string, number>;
  filter: Filter;
  sink: Sink;
}

export interface Follower {
  /** There is room again. */
  resume(): void;
  stop(): void;
}

export interface Feed {
  /** Resolves when everything that comes from now on will reach the sink. */
  follow(options: FollowOptions): Promise<Follower>;
  close(): void;
}

const PAGE = 200;

interface Followed {
  tail: Promise<Tail>;
  pumps: Set<() => void>;
}

export function createFeed(
  store: Pick<Store, "getTenant" | "listEvents" | "subscribe">,
  onError: (error: unknown) => void = () => {},
): Feed {
  const followed = new Map<string, Followed>();

  const advance = (tenant: string) =>
    followed
      .get(tenant)
      ?.tail.then((tail) => tail.advance())
      .catch(onError);
  const unsubscribe = store.subscribe((notice: Notice) => {
    if (notice.topic === "events") void advance(notice.tenant);
    else for (const tenant of followed.keys()) void advance(tenant);
  });

  const join = (tenant: string, pump: () => void): Followed => {
    let one = followed.get(tenant);
    if (!one) {
      const pumps = new Set<() => void>();
      one = {
        pumps,
        tail: openTail(store, tenant, () => {
          for (const each of pumps) each();
        }),
      };
      followed.set(tenant, one);
      // What was stored while the tail was being opened has been announced already.
      void advance(tenant);
    }
    one.pumps.add(pump);
    return one;
  };
  const leave = (tenant: string, pump: () => void) => {
    const one = followed.get(tenant);
    one?.pumps.delete(pump);
    if (one?.pumps.size === 0) followed.delete(tenant);
  };

  return {
    async follow({ tenants, after, filter, sink }) {
      const cursor = new Map(after);
      const pumps = new Map<string, () => void>();
      let stopped = false;

      const deliver = (tenant: string, events: readonly EventRow[]): void => {
        for (const event of events) {
          if (stopped || sink.isFull()) return;
          cursor.set(tenant, event.seq);
          if (matches(event, filter)) sink.event(event, cursor);
        }
      };
      const follow = async (tenant: string): Promise<void> => {
        let behind: Promise<void> | undefined;
        let tail: Tail | undefined;
        const pump = () => {
          if (!tail || stopped || behind || sink.isFull()) return;
          const events = tail.after(cursor.get(tenant) ?? tail.last);
          if (events) deliver(tenant, events);
          else
            behind = catchUp(tail)
              .catch(onError)
              .finally(() => {
                behind = undefined;
                pump();
              });
        };
        /** From the log itself, until what is kept in memory reaches back far enough. */
        const catchUp = async (to: Tail): Promise<void> => {
          while (!stopped && !sink.isFull()) {
            const from = cursor.get(tenant) ?? to.last;
            if (to.after(from)) return;
            const { items } = await store.listEvents({
              tenant,
              order: "oldest",
              cursor: from,
              limit: PAGE,
            });
            if (items.length === 0) {
              cursor.set(tenant, to.last);
              return;
            }
            deliver(tenant, items);
          }
        };
        pumps.set(tenant, pump);
        tail = await join(tenant, pump).tail;
        if (stopped) return;
        const from = cursor.get(tenant);
        if (from === undefined) cursor.set(tenant, tail.last);
        else if (from < tail.pruned) sink.truncated(tenant);
        pump();
      };

      await Promise.all(tenants.map(follow));
      return {
        resume() {
          for (const pump of pumps.values()) pump();
        },
        stop() {
          stopped = true;
          for (const [tenant, pump] of pumps) leave(tenant, pump);
        },
      };
    },
    close: unsubscribe,
  };
}

const matches = (event: EventRow, { type, repo, source }: Filter): boolean =>
  (type === undefined || event.type === type) &&
  (repo === undefined || event.repo === repo) &&
  (source === undefined || event.source === source);
