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

/**
 * The OAuth tokens with which the hub calls the MCP server of a connection, as one encrypted document per
 * connection. A person has granted them at the authorization server of that MCP server. They are stored
 * apart from the connection, because refreshing a token must not change the connection's revision.
 * oauth/model.ts has the grants of the hub's own authorization server.
 */

export interface ConnectionGrant {
  /** The tokens, encrypted by the caller; null if there are none. See connections/grant.ts. */
  sealed: string | null;
  /** Why the authorization server ended the last grant; null if it has not. */
  error: string | null;
  /** Increases with each change. */
  version: number;
}

/** An authorization that a person has begun in a browser. */
export interface PendingAuthorization {
  /** SHA-256 of the parameter `state`, in hexadecimal. */
  state: string;
  /** The id of the session or token that began the authorization. */
  by: string;
  /** The data that completes the authorization, encrypted by the caller. */
  sealed: string;
  expires_at: number;
}
