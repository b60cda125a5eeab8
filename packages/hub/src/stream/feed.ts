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

/**
 * Why a follower cannot have all that came after its cursor. `pruned`: retention has removed some of
 * it. `ahead`: the log does not reach that far (it was wiped, or is another, or comes from a backup).
 */
export type Truncation = "pruned" | "ahead";

/** Where a follower's events go. */
interface Sink {
  /** Told first, once: where the follower begins. */
  start?(cursor: ReadonlyMap<string, number>): void;
  event(event: EventRow, cursor: ReadonlyMap<string, number>): void;
  /** Told after `start`. The follower goes on with what is left, or from now where it was ahead. */
  truncated(tenant: string, why: Truncation): void;
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
  /** What has been given to the sink or passed over by its filter, by tenant. */
  readonly cursor: ReadonlyMap<string, number>;
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
  retrying: boolean;
}

export function createFeed(
  store: Pick<Store, "getTenant" | "listEvents" | "subscribe">,
  onError: (error: unknown) => void = () => {},
  /** After how long a failed read of the log is tried again. */
  retryMs = 1_000,
): Feed {
  const followed = new Map<string, Followed>();
  let closed = false;

  const advance = async (one: Followed): Promise<void> => {
    const tail = await one.tail.catch(() => undefined); // whoever follows is told of the failure
    await tail?.advance().catch((error: unknown) => {
      onError(error);
      // Nobody else would look before the next event.
      if (one.retrying) return;
      one.retrying = true;
      setTimeout(() => {
        one.retrying = false;
        if (!closed && one.pumps.size > 0) void advance(one);
      }, retryMs);
    });
  };
  const forget = (one: Followed, ids?: readonly string[]) => {
    one.tail.then(
      (tail) => tail.forget(ids),
      () => {}, // whoever follows is told of the failure
    );
  };
  const unsubscribe = store.subscribe((notice: Notice) => {
    if (notice.topic === "gap")
      for (const one of followed.values()) {
        forget(one);
        void advance(one);
      }
    if (notice.topic !== "events" && notice.topic !== "changed") return;
    const one = followed.get(notice.tenant);
    if (one && notice.topic === "changed") forget(one, notice.ids);
    else if (one) void advance(one);
  });

  const join = (tenant: string, pump: () => void): Followed => {
    const known = followed.get(tenant);
    known?.pumps.add(pump);
    if (known) return known;
    const pumps = new Set([pump]);
    const tail = openTail(store, tenant, () => {
      for (const each of pumps) each();
    });
    const one = { tail, pumps, retrying: false };
    followed.set(tenant, one);
    // What was stored while the tail was being opened has been announced already.
    void advance(one);
    return one;
  };
  const leave = (tenant: string, one: Followed, pump: () => void) => {
    one.pumps.delete(pump);
    if (one.pumps.size === 0 && followed.get(tenant) === one) followed.delete(tenant);
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
        let behind: Promise<void> | undefined;
        let tail: Tail | undefined;
        /** A sink may say while it is given an event that there is room. */
        let delivering = false;
        const place = () => cursor.get(tenant) ?? 0;
        const pump = () => {
          if (!tail || stopped || closed || behind || delivering || sink.isFull()) return;
          const events = tail.after(place());
          if (events) {
            delivering = true;
            try {
              deliver(tenant, events);
            } finally {
              delivering = false;
            }
          } else
            behind = catchUp(tail)
              .catch((error: unknown) => {
                onError(error);
                return new Promise<void>((resolve) => setTimeout(resolve, retryMs));
              })
              .finally(() => {
                behind = undefined;
                pump();
              });
        };
        /** From the log itself, until what is kept in memory reaches back far enough. */
        const catchUp = async (to: Tail): Promise<void> => {
          while (!stopped && !sink.isFull()) {
            const from = place();
            if (to.after(from)) return;
            // Before the log is read: what comes meanwhile is not among the events that are gone.
            const { last } = to;
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
        const one = join(tenant, pump);
        return {
          /** Sets the cursor where there is none, or none that can be gone on from. */
          async locate(): Promise<Truncation | undefined> {
            const { last } = await one.tail;
            const from = cursor.get(tenant);
            if (from === undefined) {
              cursor.set(tenant, last);
              return undefined;
            }
            // Not from the tail: it may not have heard yet of what another replica has told already.
            const { seq, pruned_seq } = (await store.getTenant(tenant)) ?? {
              seq: 0,
              pruned_seq: 0,
            };
            if (from <= seq) return from < pruned_seq ? "pruned" : undefined;
            cursor.set(tenant, seq);
            return "ahead";
          },
          async begin(): Promise<void> {
            tail = await one.tail;
            pump();
          },
          pump,
          leave: () => leave(tenant, one, pump),
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
        for (const [at, why] of truncations.entries())
          if (why) sink.truncated(tenants[at] as string, why);
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
