/**
 * Connections to MCP servers, the subscriptions to their triggers, and the tokens of their callbacks.
 * These rows are the desired state; connections/keeper.ts configures the servers accordingly, and records
 * the result.
 */
import type { JsonObject, JsonSchema } from "@signalbox/rules/json.ts";

/**
 * `unknown`: not checked yet. `ok`: the last check succeeded. `failed`: the last check failed.
 * `needs_authorization`: a person must authorize the hub at the server.
 */
type ConnectionStatus = "unknown" | "ok" | "failed" | "needs_authorization";

/** How to reach the server, without credentials. */
export type ConnectionTarget = { url: string } | { command: string; args: readonly string[] };

export interface Connection {
  /** Readable and globally unique, such as `weather-7kq2xv`. Also the source of its events. */
  id: string;
  tenant: string;
  name: string;
  target: ConnectionTarget;
  /** The credentials, encrypted by the caller; null if there are none. See connections/credentials.ts. */
  sealed: string | null;
  /** The part of the credentials that may be shown: their kind, and names without values. */
  credentials: JsonObject;
  /** Increases when the target or the credentials change. */
  revision: number;
  status: ConnectionStatus;
  /** Why the last check failed: the server's message, if it returned one. */
  error: string | null;
  checked_at: number | null;
  /** How many checks have failed since the last success. */
  attempt: number;
  tool_count: number;
  trigger_count: number;
  /** When the connection is checked or reconciled next. */
  next_at: number;
  /** True if the connection is being deleted: first its subscriptions are removed from the server. */
  deleted: boolean;
  created_at: number;
  updated_at: number;
}

export interface OfferedTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  annotations?: JsonObject;
}

/** How a server delivers events of a type: by callback, by the MCP Events draft, or by a polled tool. */
export type Binding = "callback" | "events" | "poll";

export interface OfferedTrigger {
  type: string;
  title?: string;
  description: string;
  binding: Binding;
  /** The JSON Schema of the params. It is derived from `paramsSchema` if the server has no full schema. */
  inputSchema: JsonSchema;
  /** The server's `paramsSchema`, normalized to a record. */
  paramsSchema: JsonObject;
  payloadSchema?: JsonSchema;
  sample?: JsonObject;
  /** `any`: an omitted param matches every value. Otherwise, the server may assume its default. */
  omittedParams?: "any";
}

/** What a server offered when it was last checked. */
export interface Offers {
  server: { name: string; version: string } | null;
  /** Whether `TRIGGER_CONFIGURE` accepts `subscriptionId`: then each subscription has its own token. */
  perSubscription: boolean;
  tools: OfferedTool[];
  triggers: OfferedTrigger[];
}

/**
 * `configuring`: the server has not confirmed the subscription yet. `failed`: the server rejected it, and
 * the keeper retries.
 */
export type SubscriptionState = "configuring" | "active" | "paused" | "failed";

export interface TriggerSubscription {
  id: string;
  tenant: string;
  connection: string;
  flow_id: string;
  node_id: string;
  /** Empty if the trigger accepts every type. */
  type: string;
  params: JsonObject;
  /** The field `poll` of the Event node; null unless the events come from a polled tool. */
  poll: JsonObject | null;
  /** The desired state. */
  wanted: "active" | "paused" | "removed";
  /** The state at the server. */
  state: SubscriptionState;
  error: string | null;
  /** Increases with each change of `type`, `params`, `poll` or `wanted`. */
  revision: number;
  /** The revision that the server has confirmed; 0 if none. */
  configured: number;
  /** The type that the server may have enabled; null if none. Recorded before the server is called. */
  configured_type: string | null;
  /** Increases with each rotation of the callback token. */
  token_generation: number;
  /**
   * The cursor of a polled subscription with the keys that it has seen; or the URL of its callbacks,
   * whether the server has stored the subscription durably, and the defaults of params that it may assume.
   */
  position: JsonObject | null;
  attempt: number;
  next_at: number;
  /**
   * When an event last started a run of the flow's trigger, to the second. Only
   * `listTriggerSubscriptions` reads it; otherwise it is null.
   */
  last_fired_at: number | null;
  created_at: number;
  /** When `revision` last increased. */
  updated_at: number;
}

export interface StoredSubscriptionState
  extends Pick<
    TriggerSubscription,
    "flow_id" | "node_id" | "connection" | "type" | "wanted" | "state" | "error" | "updated_at"
  > {
  /** By param, the default that the server may assume although the trigger has another value. */
  assumed: JsonObject;
}

/**
 * `subscription`: the token is valid while its subscription is wanted `active`. `connection`: it is valid
 * while any subscription of the connection is.
 */
export type CallbackScope = "connection" | "subscription";

export interface NewCallbackToken {
  /** SHA-256 of the token, in hexadecimal. The token itself is never stored. */
  hash: string;
  tenant: string;
  connection: string;
  subscription: string;
  /** The `token_generation` of the subscription from which the token was derived. */
  generation: number;
  scope: CallbackScope;
  /** The server that gets the token. */
  target: ConnectionTarget;
  /** The event types for which the server may use the token. */
  types: readonly string[];
  at: number;
}

/** A server has confirmed that it uses a token for a type. */
export interface ConfirmedToken {
  hash: string;
  type: string;
  /** All event types that subscriptions of the connection want. Used only in the scope `connection`. */
  wanted: readonly string[];
  at: number;
}

export interface FoundCallbackToken {
  tenant: string;
  connection: string;
  subscription: string;
  /** Null for the current token, and for a new token that the server has not confirmed. */
  expires_at: number | null;
  /** Whether no subscription wants the events any more: the triggers are inactive or removed. */
  isGone: boolean;
}

/** A server that the connection had before, and that may still send events. */
export type FormerServer = Pick<Connection, "revision" | "target" | "sealed">;

/** A leased connection, with the data that is needed to check and reconcile it. */
export interface LeasedConnection {
  connection: Connection;
  offers: Offers | null;
  subscriptions: TriggerSubscription[];
  /** The triggers of these servers must be disabled before the current server is configured. */
  former: FormerServer[];
}

export interface ConnectionLease {
  by: string;
  now: number;
  until: number;
  limit: number;
}

/** The result of a check or a reconciliation. Omitted fields do not change. */
export interface ConnectionResult {
  id: string;
  /** The revision that was checked. If it has changed meanwhile, only `next_at` is recorded. */
  revision: number;
  status?: ConnectionStatus;
  error?: string | null;
  checked_at?: number;
  attempt?: number;
  offers?: Offers;
  next_at: number;
  /**
   * If `touchConnection` was called during the lease, but neither the connection nor its subscriptions
   * have changed, the connection is not due before this time.
   */
  pause_until?: number;
}

export interface SubscriptionResult {
  id: string;
  /**
   * The revision that was reconciled. If it has changed meanwhile, only `configured_type` and `position`
   * are recorded; a `position` that the change has reset stays reset.
   */
  revision: number;
  state?: SubscriptionState;
  error?: string | null;
  configured?: number;
  configured_type?: string | null;
  position?: JsonObject | null;
  attempt?: number;
  next_at?: number;
  /** Deletes the row, which is wanted `removed`: the server has confirmed this, or cannot be reached. */
  isRemoved?: boolean;
}

export interface ConnectionStore {
  /** Creates a connection, due immediately. False if the id is taken. */
  createConnection(
    connection: Pick<Connection, "id" | "tenant" | "name" | "target" | "sealed" | "credentials">,
    at: number,
  ): Promise<boolean>;
  /**
   * Changes the fields that are set. A changed target or credential increases `revision`. If the target
   * changes, the tokens of the former server expire after a day. If the revision is not `ifRevision`,
   * changes nothing and returns "changed".
   */
  updateConnection(
    tenant: string,
    id: string,
    change: Partial<Pick<Connection, "name" | "target" | "sealed" | "credentials">> & {
      ifRevision?: number;
    },
    at: number,
  ): Promise<Connection | "changed" | undefined>;
  /**
   * Marks the connection as deleted, and its subscriptions as wanted `removed`. False if it does not
   * exist.
   */
  deleteConnection(tenant: string, id: string, at: number): Promise<boolean>;
  /** Undefined if the connection does not exist or is marked as deleted. */
  getConnection(tenant: string, id: string): Promise<Connection | undefined>;
  listConnections(tenant: string, after: string, limit: number): Promise<Connection[]>;
  getOffers(tenant: string, id: string): Promise<Offers | undefined>;
  /** Makes the connection due at `at`, for example after `tools/list_changed`. */
  touchConnection(tenant: string, id: string, at: number): Promise<void>;
  /** Leases connections that are due and that no other process has leased. */
  leaseConnections(lease: ConnectionLease): Promise<LeasedConnection[]>;
  /** Extends the leases of `by` on these connections. Returns the ids of those that it still leases. */
  renewConnections(
    lease: Omit<ConnectionLease, "limit">,
    ids: readonly string[],
  ): Promise<string[]>;
  /**
   * Records the result and ends the lease, if `by` still holds it. A deleted connection without
   * subscriptions is removed. Returns false if the lease was lost; then nothing is recorded.
   */
  finishConnection(
    by: string,
    result: ConnectionResult,
    subscriptions: readonly SubscriptionResult[],
    now: number,
  ): Promise<boolean>;
  /** Deletes the former servers up to `revision`, during a lease. False if the lease was lost. */
  dropFormerServers(by: string, connection: string, revision: number): Promise<boolean>;
  /** Records the progress of subscriptions during a lease. False if the lease was lost. */
  saveSubscriptions(
    by: string,
    connection: string,
    subscriptions: readonly SubscriptionResult[],
    now: number,
  ): Promise<boolean>;
  /** When the next connection is due; null if there is none. */
  nextConnectionDue(): Promise<number | null>;
  /** Ends the leases of `by`, so that other processes can lease the connections. */
  releaseConnections(by: string): Promise<void>;
  /** The subscriptions of a connection, with `last_fired_at`; without those wanted `removed`. */
  listTriggerSubscriptions(tenant: string, connection: string): Promise<TriggerSubscription[]>;
  /** The states of the subscriptions of these flows; without those wanted `removed`. */
  listSubscriptionStates(
    tenant: string,
    flows: readonly string[],
  ): Promise<StoredSubscriptionState[]>;
  /** Makes the keeper configure the active subscriptions of the connection again, with the same tokens. */
  renewSubscriptions(tenant: string, connection: string, at: number): Promise<void>;
  /**
   * Makes the keeper configure the subscription again, with a new token. If a token of the connection has
   * the scope `connection`, the triggers share tokens, and all subscriptions get a new one. The former
   * tokens expire a day after the server has confirmed the new one, or with `revokeNow` immediately.
   * False if the subscription does not exist.
   */
  rotateCallbackToken(
    tenant: string,
    connection: string,
    id: string,
    options: { revokeNow: boolean; at: number },
  ): Promise<boolean>;
  /**
   * Stores a token before it is sent to the server. It is valid immediately, even if it had expired. Does
   * nothing if the subscription has another generation meanwhile.
   */
  stageCallbackToken(token: NewCallbackToken): Promise<void>;
  /**
   * Records that the server uses this token for the type. Other tokens that the server no longer needs
   * expire: after a day, or immediately if they were sent to another server.
   *
   * Scope `subscription`: when all types of this token are confirmed, no other token of the subscription
   * is needed. Scope `connection`: this token replaces the other tokens of the connection for the
   * type. Another token is needed while it has a wanted type left.
   */
  confirmCallbackToken(token: ConfirmedToken): Promise<void>;
  /** Records that the server rejected the token for the type. A token without types expires after a day. */
  rejectCallbackToken(token: Pick<ConfirmedToken, "hash" | "type" | "at">): Promise<void>;
  /** Undefined if the token is unknown or has expired. */
  findCallbackToken(hash: string, now: number): Promise<FoundCallbackToken | undefined>;
}
