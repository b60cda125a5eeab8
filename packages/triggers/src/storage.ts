/**
 * Where subscriptions and the outbox are kept. Each method is atomic. `storageContract` in
 * storage-contract.ts tests every implementation.
 */
import type { Subscription } from "./definition.ts";

export interface Credentials {
  callbackUrl: string;
  callbackToken: string;
}

export interface StoredSubscription extends Subscription, Credentials {
  /** Unique in its connection. See `keyOf`. */
  key: string;
  /** Whether `onSubscribe` has completed. */
  isReady: boolean;
}

export interface NewDelivery {
  connectionId: string;
  /** The `key` of the subscription. */
  subscription: string;
  /** The id of the event: the same on every attempt. */
  id: string;
  type: string;
  /** The JSON that is sent. */
  body: string;
  createdAt: number;
}

export interface Delivery extends NewDelivery {
  /** Its place in the outbox. */
  seq: number;
  /** How many attempts have failed. */
  attempt: number;
}

export interface TriggerStorage {
  /** Whether the content survives the end of the process. */
  readonly isDurable: boolean;

  /** The subscriptions of one connection, or all. */
  listSubscriptions(connectionId?: string): Promise<StoredSubscription[]>;
  getSubscription(connectionId: string, key: string): Promise<StoredSubscription | undefined>;
  /**
   * Creates or replaces a subscription. With `credentials`, its pending deliveries become due.
   * Without, it keeps the former ones: its own, or those that the connection shares. Returns false,
   * and stores nothing, if there are none.
   */
  saveSubscription(
    subscription: Omit<StoredSubscription, keyof Credentials>,
    credentials: Credentials | undefined,
    now: number,
  ): Promise<boolean>;
  /**
   * Deletes a subscription, its pending deliveries, and its credentials if no other subscription uses
   * them. With `ifToken`, only if that is still its token. Returns what it deleted.
   */
  removeSubscription(
    connectionId: string,
    key: string,
    ifToken?: string,
  ): Promise<StoredSubscription | undefined>;

  /**
   * Adds deliveries, due immediately, to subscriptions that still exist. One that is pending already,
   * with the same subscription and id, is not added again. Returns those that are pending now; or
   * undefined, and adds nothing, if more than `limit` would be pending.
   */
  enqueue(
    deliveries: readonly NewDelivery[],
    limit: number,
  ): Promise<readonly NewDelivery[] | undefined>;
  /**
   * Removes what was delivered, and takes deliveries that are due until `until`. Only the oldest of a
   * subscription can be taken, so that its order is kept. One call, since each costs a transaction.
   */
  claimDue(claim: {
    now: number;
    until: number;
    limit: number;
    delivered: readonly number[];
  }): Promise<Delivery[]>;
  /** After a failed attempt. */
  postpone(seq: number, attempt: number, dueAt: number): Promise<void>;
  /** When it is given up. */
  removeDelivery(seq: number): Promise<void>;
  /** How many deliveries are pending, and when the first is due. */
  pending(): Promise<{ count: number; nextAt: number | undefined }>;

  close?(): Promise<void>;
}

/** Without an id, a client has one subscription per type. */
export const keyOf = (subscriptionId: string | null, type: string): string =>
  subscriptionId === null ? `type:${type}` : `id:${subscriptionId}`;

/**
 * A client that does not name its subscriptions has one credential per connection, and the last one
 * is valid.
 */
export const SHARED: string = "shared";

export const credentialScope = (subscription: {
  subscriptionId: string | null;
  key: string;
}): string => (subscription.subscriptionId === null ? SHARED : subscription.key);
