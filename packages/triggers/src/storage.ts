/**
 * A `TriggerStorage` stores the subscriptions and the outbox. Each method is atomic. `storageContract`
 * in storage-contract.ts tests every implementation.
 */
import type { Subscription } from "./definition.ts";

export interface Credentials {
  callbackUrl: string;
  callbackToken: string;
}

export interface StoredSubscription extends Subscription, Credentials {
  /** Identifies the subscription within its connection. See `keyOf`. */
  key: string;
  /** True if `onSubscribe` has completed. */
  isReady: boolean;
}

export interface NewDelivery {
  connectionId: string;
  /** The `key` of the subscription. */
  subscription: string;
  /** The id of the event, which is the same on every attempt. */
  id: string;
  type: string;
  /** The JSON body of the callback. */
  body: string;
  createdAt: number;
}

export interface Delivery extends NewDelivery {
  /** The position in the outbox. */
  seq: number;
  /** The number of failed attempts. */
  attempt: number;
}

export interface TriggerStorage {
  /** True if the content survives the end of the process. */
  readonly isDurable: boolean;

  /** Returns the subscriptions of one connection, or of all. */
  listSubscriptions(connectionId?: string): Promise<StoredSubscription[]>;
  getSubscription(connectionId: string, key: string): Promise<StoredSubscription | undefined>;
  /**
   * Creates or replaces a subscription. With `credentials`, the pending deliveries of all
   * subscriptions that use them become due. Without, the subscription keeps its former credentials, or
   * gets the shared credentials of the connection. If it has neither, the method returns false and
   * stores nothing.
   */
  saveSubscription(
    subscription: Omit<StoredSubscription, keyof Credentials>,
    credentials: Credentials | undefined,
    now: number,
  ): Promise<boolean>;
  /**
   * Deletes a subscription, its pending deliveries, and its credentials if no other subscription uses
   * them. With `ifToken`, it does so only if the subscription still has this token. Returns the
   * subscription if it was deleted.
   */
  removeSubscription(
    connectionId: string,
    key: string,
    ifToken?: string,
  ): Promise<StoredSubscription | undefined>;

  /**
   * Adds deliveries to subscriptions that still exist. They are due immediately. A delivery that is
   * already pending, with the same subscription and id, is not added again. Returns the `deliveries`
   * that are pending now. If more than `limit` would be pending, it adds none and returns undefined.
   */
  enqueue(
    deliveries: readonly NewDelivery[],
    limit: number,
  ): Promise<readonly NewDelivery[] | undefined>;
  /**
   * Removes the `delivered` ones (by `seq`), then claims deliveries that are due: no other call returns
   * them before the time `until`. Only the oldest delivery of a subscription can be claimed, so that
   * events stay in order. One method does both, because each call costs a transaction.
   */
  claimDue(claim: {
    now: number;
    until: number;
    limit: number;
    delivered: readonly number[];
  }): Promise<Delivery[]>;
  /** Ends the claim after a failed attempt. The delivery is due again at `dueAt`. */
  postpone(seq: number, attempt: number, dueAt: number): Promise<void>;
  /** Removes a delivery that is complete or given up. */
  removeDelivery(seq: number): Promise<void>;
  /** Returns how many deliveries are pending, and when the next one can be claimed. */
  pending(): Promise<{ count: number; nextAt: number | undefined }>;

  close?(): Promise<void>;
}

/** Returns the key of a subscription. A client that sends no ids has one subscription per type. */
export const keyOf = (subscriptionId: string | null, type: string): string =>
  subscriptionId === null ? `type:${type}` : `id:${subscriptionId}`;

/**
 * The scope of the credentials that all subscriptions without id share. Only the latest credentials of
 * a scope are stored.
 */
export const SHARED: string = "shared";

/** Returns the scope of the credentials: each subscription with an id has its own. */
export const credentialScope = (subscription: {
  subscriptionId: string | null;
  key: string;
}): string => (subscription.subscriptionId === null ? SHARED : subscription.key);
