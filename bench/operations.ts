/** The store operations that `reads` measures. */
import type { Backlog } from "./backlog.ts";
import { RARE_TYPE, TENANT } from "./seed.ts";

export interface Operation {
  name: string;
  /** Calls per round. */
  calls: number;
  /** Whether the cost must not grow with the backlog. */
  isFlat: boolean;
  /** Prepares one call and returns it; only the call is timed. */
  prepare(backlog: Backlog): () => Promise<unknown>;
  /** Throws when the result is wrong, because an empty result would be fast. */
  check(result: unknown): void;
  /** Reverts the changes of a round; not timed. */
  restore?(backlog: Backlog): Promise<void>;
}

const READS = 100;
const WRITES = 10;
const PAGE = 20;
const CLAIM_SIZE = 10;
const WORKER = "bench";

const define = <Returned>(
  operation: Omit<Operation, "check" | "prepare"> & {
    prepare(backlog: Backlog): () => Promise<Returned>;
    isExpected(result: Returned): boolean;
  },
): Operation => ({
  ...operation,
  check(result) {
    if (!operation.isExpected(result as Returned))
      throw new Error(`${operation.name} returned ${JSON.stringify(result)?.slice(0, 300)}`);
  },
});

const listEvents = (name: string, query: { order: "newest" | "oldest"; type?: string }) =>
  define({
    name,
    calls: READS,
    isFlat: true,
    prepare:
      ({ store }) =>
      () =>
        store.listEvents({ tenant: TENANT, pending: true, limit: PAGE, ...query }),
    isExpected: ({ items }) => items.length === PAGE,
  });

const getEvent = (name: string, pick: (backlog: Backlog) => string) =>
  define({
    name,
    calls: READS,
    isFlat: true,
    prepare(backlog) {
      const id = pick(backlog);
      return async () => {
        const event = await backlog.store.getEvent(TENANT, id);
        return event && (await backlog.store.getPayload(TENANT, event.seq));
      };
    },
    isExpected: (payload) => (payload?.body.byteLength ?? 0) > 0,
  });

const randomItem = (ids: readonly string[]) =>
  ids[Math.floor(Math.random() * ids.length)] as string;

export const operations: readonly Operation[] = [
  define({
    name: "pending status",
    calls: READS,
    isFlat: true,
    prepare:
      ({ store }) =>
      () =>
        store.pendingStatus(TENANT),
    isExpected: ({ pending_count }) => pending_count > 0,
  }),
  listEvents("list 20 newest", { order: "newest" }),
  listEvents("list 20 oldest", { order: "oldest" }),
  listEvents("list 20 of a rare type", { order: "newest", type: RARE_TYPE }),
  getEvent("get a recent event, with payload", ({ ids }) => randomItem(ids.slice(-PAGE))),
  // Small backlogs fit into the cache and large ones do not, so the cache is cleared before each call.
  getEvent("get a random event, with payload, cache empty", ({ ids, cache }) => {
    cache.clear();
    return randomItem(ids);
  }),
  define({
    name: "mark one processed",
    calls: WRITES,
    isFlat: false,
    prepare(backlog) {
      const id = backlog.takeId();
      return () => backlog.store.markProcessed(TENANT, [id], Date.now(), null);
    },
    isExpected: ({ marked }) => marked.length === 1,
  }),
  define({
    name: `claim ${CLAIM_SIZE}`,
    calls: WRITES,
    isFlat: false,
    prepare({ store, claimed }) {
      const now = Date.now();
      return async () => {
        const claim = { tenant: TENANT, by: WORKER, limit: CLAIM_SIZE, now, until: now + 600_000 };
        const events = await store.claimEvents(claim);
        claimed.push(...events.map(({ id }) => id));
        return events;
      };
    },
    isExpected: (events) => events.length === CLAIM_SIZE,
    async restore({ store, claimed }) {
      await store.releaseEvents(TENANT, claimed.splice(0), WORKER);
    },
  }),
];
