/** Stores everything in memory. With this storage, `notify` resolves when the event is delivered. */
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

/** The content of the storage as plain JSON, so that it can be written to a file. */
export interface StorageState {
  subscriptions: Row[];
  credentials: (Credentials & { connectionId: string; scope: string })[];
  outbox: OutboxRow[];
  nextSeq: number;
}

/** Called and awaited after each change, before the method of the storage returns. */
export type Persist = (snapshot: () => StorageState) => Promise<void>;

const mapKey = (...parts: string[]): string => JSON.stringify(parts);

export const memoryStorage = (): TriggerStorage => createMemoryStorage();

export function createMemoryStorage(initial?: StorageState, persist?: Persist): TriggerStorage {
  const subscriptions = new Map<string, Row>();
  const credentials = new Map<string, StorageState["credentials"][number]>();
  /** The pending deliveries of each subscription, oldest first. */
  const queues = new Map<string, OutboxRow[]>();
  const bySeq = new Map<number, OutboxRow>();
  /** The ends of the claims, by `seq`. Claims end with the process, so they are not in `StorageState`. */
  const claims = new Map<number, number>();
  let nextSeq = initial?.nextSeq ?? 1;

  const queueKey = (row: { connectionId: string; subscription: string }) =>
    mapKey(row.connectionId, row.subscription);
  const push = (row: OutboxRow) => {
    bySeq.set(row.seq, row);
    const queue = queues.get(queueKey(row));
    if (queue) queue.push(row);
    else queues.set(queueKey(row), [row]);
  };
  const remove = (row: OutboxRow) => {
    bySeq.delete(row.seq);
    claims.delete(row.seq);
    const remaining = queues.get(queueKey(row))?.filter((other) => other !== row) ?? [];
    if (remaining.length > 0) queues.set(queueKey(row), remaining);
    else queues.delete(queueKey(row));
  };
  for (const row of initial?.subscriptions ?? [])
    subscriptions.set(mapKey(row.connectionId, row.key), row);
  for (const row of initial?.credentials ?? [])
    credentials.set(mapKey(row.connectionId, row.scope), row);
  for (const row of initial?.outbox ?? []) push(row);

  const hydrate = (row: Row): StoredSubscription => {
    const stored = credentials.get(mapKey(row.connectionId, credentialScope(row)));
    if (!stored) throw new Error(`The credentials of ${row.connectionId}/${row.key} are missing.`);
    const { callbackUrl, callbackToken } = stored;
    return structuredClone({ ...row, callbackUrl, callbackToken });
  };
  const save = () =>
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
      const row = subscriptions.get(mapKey(connectionId, key));
      return row && hydrate(row);
    },

    async saveSubscription(subscription, newCredentials, now) {
      const { connectionId, key } = subscription;
      const scope = credentialScope(subscription);
      const usedCredentials =
        newCredentials ??
        credentials.get(mapKey(connectionId, scope)) ??
        credentials.get(mapKey(connectionId, SHARED));
      if (!usedCredentials) return false;
      const { callbackUrl, callbackToken } = usedCredentials;
      credentials.set(mapKey(connectionId, scope), {
        connectionId,
        scope,
        callbackUrl,
        callbackToken,
      });
      subscriptions.set(mapKey(connectionId, key), structuredClone(subscription));
      if (newCredentials)
        for (const row of bySeq.values())
          if (row.connectionId === connectionId && row.dueAt > now) {
            const owner = subscriptions.get(mapKey(connectionId, row.subscription));
            if (owner && credentialScope(owner) === scope) row.dueAt = now;
          }
      await save();
      return true;
    },

    async removeSubscription(connectionId, key, ifToken) {
      const row = subscriptions.get(mapKey(connectionId, key));
      if (!row) return undefined;
      const removed = hydrate(row);
      if (ifToken !== undefined && removed.callbackToken !== ifToken) return undefined;
      subscriptions.delete(mapKey(connectionId, key));
      const remaining = [...subscriptions.values()].filter(
        (other) => other.connectionId === connectionId,
      );
      const scope = credentialScope(row);
      if (!remaining.some((other) => credentialScope(other) === scope))
        credentials.delete(mapKey(connectionId, scope));
      for (const delivery of queues.get(mapKey(connectionId, key)) ?? []) remove(delivery);
      await save();
      return removed;
    },

    async enqueue(deliveries, limit) {
      const pending = deliveries.filter((delivery) => subscriptions.has(queueKey(delivery)));
      const added = pending.filter(
        (delivery) => !queues.get(queueKey(delivery))?.some((row) => row.id === delivery.id),
      );
      if (bySeq.size + added.length > limit) return undefined;
      for (const delivery of added)
        push({ ...delivery, seq: nextSeq++, attempt: 0, dueAt: delivery.createdAt });
      if (added.length > 0) await save();
      return pending;
    },

    async claimDue({ now, until, limit, delivered }) {
      const removed = delivered.flatMap((seq) => bySeq.get(seq) ?? []);
      for (const row of removed) remove(row);
      const due: Delivery[] = [];
      for (const [head] of queues.values()) {
        if (due.length === limit) break;
        if (!head || head.dueAt > now || (claims.get(head.seq) ?? 0) > now) continue;
        claims.set(head.seq, until);
        const { dueAt: _, ...delivery } = head;
        due.push(delivery);
      }
      if (removed.length > 0) await save();
      return due;
    },

    async postpone(seq, attempt, dueAt) {
      claims.delete(seq);
      const row = bySeq.get(seq);
      if (!row) return;
      Object.assign(row, { attempt, dueAt });
      await save();
    },

    async removeDelivery(seq) {
      const row = bySeq.get(seq);
      if (!row) return;
      remove(row);
      await save();
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
