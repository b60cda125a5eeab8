/** A webhook subscription: which events are sent to which URL, and the progress of the deliveries. */
export interface Subscription extends DeliveryProgress {
  /** Derived from the unique key: principal, tenants, name, arguments and URL. */
  id: string;
  /** The id of the token that created it. */
  principal: string;
  tenants: string[];
  /** The name of the MCP event type that is subscribed to. */
  name: string;
  arguments: Record<string, string | number>;
  url: string;
  /** Encrypted by the caller, like `former_secret`. */
  secret: string;
  /** Detects a new secret. `secret` cannot: its ciphertext differs even if the secret is the same. */
  secret_hash: string;
  /** The replaced secret. Deliveries are signed with both secrets until `former_until`. */
  former_secret: string | null;
  former_until: number | null;
  expires_at: number;
  /** The process that delivers the events; empty if there is none. */
  leased_by: string;
  leased_until: number;
  created_at: number;
  updated_at: number;
}

/** The progress of the deliveries of a subscription. */
export interface DeliveryProgress {
  id: string;
  /** For each tenant, the `seq` up to which all events were delivered, were skipped or did not match. */
  positions: Record<string, number>;
  /**
   * True if events were too large, could not be delivered within the retry period, or were deleted by
   * retention, and the subscriber has not been notified yet.
   */
  gap: boolean;
  /** How many attempts have failed since the last success. */
  attempt: number;
  failing_since: number | null;
  /** When the next attempt is due. */
  next_at: number;
  last_error: string | null;
  delivered_at: number | null;
}

export type NewSubscription = Pick<
  Subscription,
  | "id"
  | "principal"
  | "tenants"
  | "name"
  | "arguments"
  | "url"
  | "secret"
  | "secret_hash"
  | "positions"
  | "expires_at"
>;

export interface PutSubscriptionOptions {
  now: number;
  /** The maximum number of subscriptions of one principal. */
  limit: number;
  /** The `former_until` of a secret that this call replaces. */
  formerUntil: number;
}

/** A lease of subscriptions by the process `by`. */
export interface Lease {
  by: string;
  now: number;
  until: number;
  /** The maximum number of subscriptions that are newly leased. */
  limit: number;
}
