/** The calls that `reads` times: what an agent does with its inbox. */
import type { Backlog } from "./backlog.ts";
import { RARE_TYPE, TENANT } from "./seed.ts";

export interface Operation {
  name: string;
  /** In one round. */
  calls: number;
  /** It must cost the same whatever the backlog. */
  flat: boolean;
  /** Makes one call ready; what it returns is timed. */
  prepare(backlog: Backlog): () => Promise<unknown>;
  /** Throws where the call did not do its work: an empty answer is quick. */
  check(result: unknown): void;
  /** Undoes, untimed, what the calls of a round have changed. */
  restore?(backlog: Backlog): Promise<void>;
}

const READS = 100;
const WRITES = 10;
const PAGE = 20;
const CLAIMED = 10;
const WORKER = "bench";

const define = <Answer>(
  operation: Omit<Operation, "check" | "prepare"> & {
    prepare(backlog: Backlog): () => Promise<Answer>;
    holds(answer: Answer): boolean;
  },
): Operation => ({
  ...operation,
  check(answer) {
    if (!operation.holds(answer as Answer))
      throw new Error(`${operation.name} answered ${JSON.stringify(answer)?.slice(0, 300)}`);
  },
});

const listing = (name: string, query: { order: "newest" | "oldest"; type?: string }) =>
  define({
    name,
    calls: READS,
    flat: true,
    prepare:
      ({ store }) =>
      () =>
        store.listEvents({ tenant: TENANT, pending: true, limit: PAGE, ...query }),
    holds: ({ items }) => items.length === PAGE,
  });

const getting = (name: string, pick: (backlog: Backlog) => string) =>
  define({
    name,
    calls: READS,
    flat: true,
    prepare(backlog) {
      const id = pick(backlog);
      return async () => {
        const event = await backlog.store.getEvent(TENANT, id);
        return event && (await backlog.store.getPayload(TENANT, event.seq));
      };
    },
    holds: (payload) => (payload?.body.byteLength ?? 0) > 0,
  });

const any = (ids: readonly string[]) => ids[Math.floor(Math.random() * ids.length)] as string;

export const operations: readonly Operation[] = [
  define({
    name: "pending status",
    calls: READS,
    flat: true,
    prepare:
      ({ store }) =>
      () =>
        store.pendingStatus(TENANT),
    holds: ({ pending_count }) => pending_count > 0,
  }),
  listing("list 20 newest", { order: "newest" }),
  listing("list 20 oldest", { order: "oldest" }),
  listing("list 20 of a rare type", { order: "newest", type: RARE_TYPE }),
  getting("get one of the newest, with payload", ({ ids }) => any(ids.slice(-PAGE))),
  // A thousand fit into the process's memory, a million do not: what lies there must not count.
  getting("get any, with payload, from the store", ({ ids, cache }) => {
    cache.clear();
    return any(ids);
  }),
  define({
    name: "mark one processed",
    calls: WRITES,
    flat: false,
    prepare(backlog) {
      const id = backlog.takeId();
      return () => backlog.store.markProcessed(TENANT, [id], Date.now(), null);
    },
    holds: ({ marked }) => marked.length === 1,
  }),
  define({
    name: `claim ${CLAIMED}`,
    calls: WRITES,
    flat: false,
    prepare({ store, claimed }) {
      const now = Date.now();
      return async () => {
        const claim = { tenant: TENANT, by: WORKER, limit: CLAIMED, now, until: now + 600_000 };
        const events = await store.claimEvents(claim);
        claimed.push(...events.map(({ id }) => id));
        return events;
      };
    },
    holds: (events) => events.length === CLAIMED,
    async restore({ store, claimed }) {
      await store.releaseEvents(TENANT, claimed.splice(0), WORKER);
    },
  }),
];
