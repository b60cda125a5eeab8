/** Keeps everything in memory: `notify` then resolves when the event is delivered. */
import {
  type Credentials,
  credentialScope,
  type Delivery,
  SHARED,
  type StoredSubscription,
  type TriggerStorage,
} from "./storage.ts";

type Row = Omit<StoredSubscription, keyof Credentials>;
type OutboxRow = Delivery & { dueAt: number };

/** Plain JSON, so that it can be written to a file. */
export interface StorageState {
  subscriptions: Row[];
  credentials: (Credentials & { connectionId: string; scope: string })[];
  outbox: OutboxRow[];
  nextSeq: number;
}

/** Called after each change, and awaited before the method returns. */
export type Persist = (snapshot: () => StorageState) => Promise<void>;

const id = (...parts: string[]): string => JSON.stringify(parts);

export const memoryStorage = (): TriggerStorage => createMemoryStorage();

export function createMemoryStorage(initial?: StorageState, persist?: Persist): TriggerStorage {
  const subscriptions = new Map<string, Row>();
  const credentials = new Map<string, StorageState["credentials"][number]>();
  /** The pending deliveries of each subscription, oldest first. */
  const queues = new Map<string, OutboxRow[]>();
  const bySeq = new Map<number, OutboxRow>();
  // Claims end with the process, so they are not part of the state.
  const claims = new Map<number, number>();
  let nextSeq = initial?.nextSeq ?? 1;

  const queueOf = (row: { connectionId: string; subscription: string }) =>
    id(row.connectionId, row.subscription);
  const push = (row: OutboxRow) => {
    bySeq.set(row.seq, row);
    const queue = queues.get(queueOf(row));
    if (queue) queue.push(row);
    else queues.set(queueOf(row), [row]);
  };
  const drop = (row: OutboxRow) => {
    bySeq.delete(row.seq);
    claims.delete(row.seq);
    const rest = queues.get(queueOf(row))?.filter((one) => one !== row) ?? [];
    if (rest.length > 0) queues.set(queueOf(row), rest);
    else queues.delete(queueOf(row));
  };
  for (const row of initial?.subscriptions ?? [])
    subscriptions.set(id(row.connectionId, row.key), row);
  for (const one of initial?.credentials ?? [])
    credentials.set(id(one.connectionId, one.scope), one);
  for (const row of initial?.outbox ?? []) push(row);

  const hydrate = (row: Row): StoredSubscription => {
    const found = credentials.get(id(row.connectionId, credentialScope(row)));
    if (!found) throw new Error(`The credentials of ${row.connectionId}/${row.key} are missing.`);
    const { callbackUrl, callbackToken } = found;
    return structuredClone({ ...row, callbackUrl, callbackToken });
  };
  const saved = () =>
    persist?.(() => ({
      subscriptions: [...subscriptions.values()],
      credentials: [...credentials.values()],
      outbox: [...bySeq.values()],
      nextSeq,
    }));

  return {
    isDurable: persist !== undefined,

    async listSubscriptions(connectionId) {
      return [...subscriptions.values()]
        .filter((row) => connectionId === undefined || row.connectionId === connectionId)
        .map(hydrate);
    },

    async getSubscription(connectionId, key) {
      const row = subscriptions.get(id(connectionId, key));
      return row && hydrate(row);
    },

    async saveSubscription(subscription, given, now) {
      const { connectionId, key } = subscription;
      const scope = credentialScope(subscription);
      const used =
        given ??
        credentials.get(id(connectionId, scope)) ??
        credentials.get(id(connectionId, SHARED));
      if (!used) return false;
      const { callbackUrl, callbackToken } = used;
      credentials.set(id(connectionId, scope), { connectionId, scope, callbackUrl, callbackToken });
      subscriptions.set(id(connectionId, key), structuredClone(subscription));
      if (given)
        for (const row of bySeq.values())
          if (row.connectionId === connectionId && row.dueAt > now) {
            const owner = subscriptions.get(id(connectionId, row.subscription));
            if (owner && credentialScope(owner) === scope) row.dueAt = now;
          }
      await saved();
      return true;
    },

    async removeSubscription(connectionId, key, ifToken) {
      const row = subscriptions.get(id(connectionId, key));
      if (!row) return undefined;
      const removed = hydrate(row);
      if (ifToken !== undefined && removed.callbackToken !== ifToken) return undefined;
      subscriptions.delete(id(connectionId, key));
      const rest = [...subscriptions.values()].filter((one) => one.connectionId === connectionId);
      const scope = credentialScope(row);
      if (!rest.some((one) => credentialScope(one) === scope))
        credentials.delete(id(connectionId, scope));
      for (const one of queues.get(id(connectionId, key)) ?? []) drop(one);
      await saved();
      return removed;
    },

    async enqueue(deliveries, limit) {
      const wanted = deliveries.filter((one) => subscriptions.has(queueOf(one)));
      const added = wanted.filter(
        (one) => !queues.get(queueOf(one))?.some((row) => row.id === one.id),
      );
      if (bySeq.size + added.length > limit) return undefined;
      for (const one of added) push({ ...one, seq: nextSeq++, attempt: 0, dueAt: one.createdAt });
      if (added.length > 0) await saved();
      return wanted;
    },

    async claimDue({ now, until, limit, delivered }) {
      const removed = delivered.flatMap((seq) => bySeq.get(seq) ?? []);
      for (const row of removed) drop(row);
      const due: Delivery[] = [];
      for (const [head] of queues.values()) {
        if (due.length === limit) break;
        if (!head || head.dueAt > now || (claims.get(head.seq) ?? 0) > now) continue;
        claims.set(head.seq, until);
        const { dueAt: _, ...delivery } = head;
        due.push(delivery);
      }
      if (removed.length > 0) await saved();
      return due;
    },

    async postpone(seq, attempt, dueAt) {
      claims.delete(seq);
      const row = bySeq.get(seq);
      if (!row) return;
      Object.assign(row, { attempt, dueAt });
      await saved();
    },

    async removeDelivery(seq) {
      const row = bySeq.get(seq);
      if (!row) return;
      drop(row);
      await saved();
    },

    async pending() {
      let nextAt: number | undefined;
      for (const [head] of queues.values()) {
        if (!head) continue;
        const at = Math.max(head.dueAt, claims.get(head.seq) ?? 0);
        nextAt = Math.min(nextAt ?? at, at);
      }
      return { count: bySeq.size, nextAt };
    },
  };
}
