/**
 * The interface between the hub and its database. Every write is one transaction. When the promise
 * of a write resolves, the change survives a crash. A read is one statement, or tolerates commits
 * between its statements. The same contract suite (contract.ts) runs on every backend.
 */
import type { Json } from "@signalbox/rules/json.ts";
import type {
  ClockReading,
  RetentionClock,
  RetentionTime,
} from "../../events/retention/retention-clock.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { ConnectionStore } from "./connection-store.ts";
import type { DatabaseFile, DatabaseSize } from "./database-file.ts";
import type { FlowStore } from "./flow-store.ts";
import type { ConnectionGrantStore } from "./grant-store.ts";
import type { MatchingStore } from "./matching-store.ts";
import type { OAuthStore } from "./oauth-store.ts";
import type { LargePack } from "./packs.ts";
import type { Page } from "./page.ts";
import type { PeopleStore } from "./people-store.ts";
import type { RedeliveryStore } from "./redelivery-store.ts";
import type { EventPlan, RunStore, TrippedTrigger } from "./run-store.ts";
import type { ScheduleStore } from "./schedule-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Notice } from "./sql.ts";
import type { TenantDataStore } from "./tenant-data-store.ts";

/** The fields of a payload that lists show; null if the payload does not have them. */
export interface Summary {
  action: string | null;
  repo: string | null;
  sender: string | null;
  number: number | null;
  title: string | null;
  /** The address of a web page, not of an API. */
  url: string | null;
  /** Set if the event is about a check or a workflow. */
  check_result: CheckResult | null;
}

/** The result of a check or a workflow, with the branch and the commit on which it ran. */
export interface CheckResult {
  /** Null until the check or the workflow has completed. */
  conclusion: string | null;
  head_branch: string | null;
  head_sha: string | null;
}

/** `matching`: the event is not matched yet; see matching-store.ts. */
export type TriggerStatus = "matching" | "pending" | "running" | "succeeded" | "failed";

/** A stored event without its payload. */
export interface EventRow extends Summary {
  id: string;
  tenant: string;
  /** Position in the tenant's log: 1, 2, 3, … in the order of the commits. */
  seq: number;
  source: string;
  /** See `NewEvent.source_id`. */
  source_id: string;
  /** The delivery id; null if the sender has given none. */
  external_id: string | null;
  type: string;
  received_at: number;
  processed: boolean;
  processed_at: number | null;
  note: string | null;
  /** The combined status of the runs that the event started or was gathered into; null if there were none. */
  trigger_status: TriggerStatus | null;
  /** When the latest of these runs started. */
  last_triggered_at: number | null;
  /** Always null: `outcome` in the API is derived from `trigger_status`. */
  outcome: string | null;
  claimed_by: string | null;
  /** The end of the claim. If `claimed_by` is null, the event cannot be claimed before this time. */
  claimed_until: number | null;
  /** How often workers have claimed the event by its id; see `ReleaseOptions.uncounted`. */
  attempts: number;
  /** The size of the body in bytes. */
  size: number;
}

/**
 * The body of an event, with those request headers that its source stores. If a request has several
 * events, the body of each event is its own part of the request body.
 */
export interface Payload {
  content_type: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

export interface NewEvent extends Summary, Payload {
  id: string;
  source: string;
  /**
   * The id of the endpoint that received the event, of the connection that sent it, or of the flow
   * that emitted it. `external_id` is unique per tenant and `source_id`.
   */
  source_id: string;
  external_id: string | null;
  type: string;
  received_at: number;
  /** The compressed payload, if `packLarge` has compressed it. */
  pack?: LargePack;
}

/** The events of one request. Either all events that are not duplicates are stored, or none. */
export interface AppendRequest {
  tenant: string;
  events: NewEvent[];
  /** The parsed payloads of `events`, in the same order, for matching. They are not stored. */
  data?: readonly Json[];
  /** The events are stored even above the quota, and do not count towards it while they are pending. */
  skipQuota?: boolean;
  /**
   * The verdicts and runs of each event. They were computed from the tenant's triggers at this
   * `revision`; see `findTriggers`. `plan.events` is empty if no trigger listens to the events.
   */
  plan?: { revision: number; events: readonly EventPlan[] };
}

export type AppendResult =
  | {
      outcome: "stored";
      events: { id: string; seq: number; duplicate: boolean }[];
      /** The triggers that a circuit breaker prevented from firing. */
      tripped?: TrippedTrigger[];
    }
  /** All events of the request were stored before. */
  | { outcome: "duplicate"; events: { id: string; seq: number; duplicate: boolean }[] }
  /** `pending`: the events that count towards the quota. */
  | { outcome: "over_quota"; pending: number; quota: number }
  /** The tenant was deleted. */
  | { outcome: "deleted" };

/**
 * The triggers have changed since the plan was computed. Nothing is stored; the caller matches the
 * events again.
 */
export interface StalePlan {
  outcome: "stale";
}

export interface PendingStatus {
  pending_count: number;
  /** When the newest pending event was received. */
  latest_received_at: number | null;
  /** The number of pending events of each type, for the 1,000 most frequent types. */
  types: Record<string, number>;
}

export interface EventQuery {
  tenant: string;
  limit: number;
  /** Returns only events after this `seq`, in the direction of `order`. */
  cursor?: number | undefined;
  /** `newest` first by default. */
  order?: "newest" | "oldest" | undefined;
  pending?: boolean | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
  /** A source, or the id of an endpoint or connection. */
  origin?: string | undefined;
  /** Returns only events that can be claimed at this time. */
  claimableAt?: number | undefined;
}

export interface SearchQuery {
  tenant: string;
  limit: number;
  /** Returns only events before this `seq`. The newest event comes first. */
  cursor?: number | undefined;
  /** Contained in the type, the delivery id or a field of the summary. The case is ignored. */
  text?: string | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  /** See `EventQuery.origin`. */
  origin?: string | undefined;
  /** If null, returns only events without a trigger status: they started no run. */
  status?: TriggerStatus | null | undefined;
  /** Returns only events that were received from `from` to `to`, both inclusive. */
  from?: number | undefined;
  to?: number | undefined;
  processed?: boolean | undefined;
}

export type { Page } from "./page.ts";

/** A claim of up to `limit` pending events. */
export interface Claim {
  tenant: string;
  /** The owner of the claim. */
  by: string;
  limit: number;
  now: number;
  /** The end of the claim. */
  until: number;
  type?: string | undefined;
}

/** A claim of one event by its id; see `Claim`. */
export interface WorkerClaim {
  tenant: string;
  id: string;
  by: string;
  now: number;
  until: number;
}

export interface ReleaseOptions {
  /** The events cannot be claimed before this time. */
  notBefore?: number | undefined;
  /** The claim does not count as an attempt. */
  uncounted?: boolean | undefined;
}

export interface ClaimResult {
  /** False if the operation was not allowed and has changed nothing. */
  applied: boolean;
  /** The event after the operation. */
  event: EventRow;
}

/** The ids of the events, by outcome. */
export interface MarkResult {
  marked: string[];
  /** The events that were processed before the call. */
  alreadyProcessed: string[];
  unknown: string[];
}

/** The ids of the events, by outcome. */
export interface ReopenResult {
  reopened: string[];
  /** The events that were pending before the call. */
  alreadyPending: string[];
  unknown: string[];
}

export interface Retention extends RetentionTime {
  /** How long an event is stored after it was processed, in milliseconds. */
  processedFor: number;
  /** How long an event that is not processed is stored, in milliseconds. */
  pendingFor: number;
  /** The maximum stored bytes of the events and ended runs of one tenant. */
  maxBytes: number;
  /** The maximum number of events and runs that one call removes, so that other writers wait only briefly. */
  limit: number;
}

/** The numbers of removed events, by the reason of their removal, and of removed runs. */
export interface SweepResult {
  /** Processed longer ago than `processedFor`. */
  processed: number;
  /** Pending, and received longer ago than `pendingFor`. */
  expired: number;
  /** The oldest events of a tenant above `maxBytes`. */
  overflow: number;
  /** The oldest ended runs of that tenant. */
  runs: number;
  /** Whether another call may remove more events. */
  hasMore: boolean;
}

export interface Tenant extends TenantSettings {
  id: string;
  name: string | null;
  created_at: number;
  /** The `seq` of the tenant's newest event; 0 before the first event. */
  seq: number;
  /** Retention may have removed events up to this `seq`. */
  pruned_seq: number;
  /** The number of pending events. */
  pending: number;
  /** The stored bytes of all events; see stored-size.ts. */
  bytes: number;
  /** The stored bytes of all ended runs; see verbs/run-usage.ts. */
  runs_bytes: number;
  /** Whether the tenant's data is being deleted. */
  deleting: boolean;
}

/** A tenant's own settings. If a field is null, the hub's setting applies. */
export interface TenantSettings {
  quota: number | null;
  /** In milliseconds, capped at the hub's `Retention.processedFor`. */
  processed_for: number | null;
  /** In milliseconds, capped at the hub's `Retention.pendingFor`. */
  pending_for: number | null;
  max_bytes: number | null;
}

export interface Installation {
  id: string;
  tenant: string;
  account: string | null;
  /** GitHub's timestamp of the last event about the installation; 0 if there was none. */
  version: number;
  /** When the account suspended the App; null if it is not suspended. */
  suspended_at: number | null;
  removed_at: number | null;
}

/** The state of an installation, as an event or a lookup at GitHub reports it. */
export interface InstallationUpdate extends Omit<Installation, "removed_at"> {
  /** Null if the event does not change whether the installation is removed. */
  change: "removed" | "restored" | null;
}

export type Scope =
  | "inbox:read"
  | "inbox:write"
  | "flows:call"
  | "runs:read"
  | "metrics:read"
  | "admin";

/**
 * `sign_in`: a code that can be exchanged once for a session. `session`: a browser that is signed in.
 * `oauth`: an access token of an OAuth client, whose parent is its grant. Only `token` and `oauth` are
 * accepted as bearer tokens.
 */
type TokenKind = "token" | "sign_in" | "session" | "oauth";

export interface TokenQuery {
  /** Default: `token`. */
  kind?: TokenKind | undefined;
  /** Only tokens whose `tenants` contain this value, which may be `*`. */
  tenant?: string | undefined;
  /** Only tokens of this person. */
  person?: string | undefined;
  /** Only tokens whose id sorts before this one: the last id of the previous page. */
  before?: string | undefined;
  limit: number;
}

export interface Token {
  id: string;
  kind: TokenKind;
  /**
   * The token that created this code or session, or the grant of an OAuth token. Revoking the parent
   * revokes this token.
   */
  parent: string | null;
  name: string;
  hash: string;
  scopes: Scope[];
  /** The tenants whose data the token can access; `*` means all tenants. */
  tenants: string[];
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** When the token was last used, to the minute. */
  last_used_at: number | null;
  /** The person whom the token represents; null if it represents none, such as a token of the operator. */
  person: string | null;
  /** The audience: the URL of the only resource that accepts the token. Null: all resources accept it. */
  resource: string | null;
}

type OptionalInToken = "kind" | "parent" | "person" | "resource";

/** Default: kind `token`, with no parent, person or audience. */
export type NewStoredToken = Omit<Token, OptionalInToken | "revoked_at" | "last_used_at"> &
  Partial<Pick<Token, OptionalInToken>>;

/** A webhook endpoint of one tenant. The caller encrypts the secrets; see lib/seal.ts. */
export interface SourceEndpoint {
  id: string;
  tenant: string;
  /** The id of the source definition, such as `github`. */
  kind: string;
  name: string;
  /** The last segment of the endpoint's URL. */
  key: string;
  config: Record<string, unknown>;
  secrets: SourceSecret[];
  created_at: number;
}

export interface SourceSecret {
  id: string;
  /** The encrypted secret. */
  sealed: string;
  created_at: number;
  expires_at: number | null;
}

/** The number of recent events that have the same source, endpoint and type. */
export interface RecentType {
  source: string;
  source_id: string;
  type: string;
  count: number;
  /** When the newest of these events was received. */
  received_at: number;
}

/** The event log and the inbox of each tenant. */
export interface EventStore {
  /**
   * Stores the requests of a batch in one transaction, and returns one result per request. `quota` is
   * the quota of tenants without their own; null means no quota.
   */
  appendEvents(batch: AppendRequest[], quota: number | null): Promise<(AppendResult | StalePlan)[]>;
  pendingStatus(tenant: string): Promise<PendingStatus>;
  /** The number of pending events of all tenants. */
  countPending(): Promise<number>;
  listEvents(query: EventQuery): Promise<Page<EventRow>>;
  searchEvents(query: SearchQuery): Promise<Page<EventRow>>;
  getEvent(tenant: string, id: string): Promise<EventRow | undefined>;
  /** Returns those `ids` that are delivery ids of stored events of these endpoints (`source_id`). */
  findExternalIds(
    tenant: string,
    endpoints: readonly string[],
    ids: readonly string[],
  ): Promise<string[]>;
  getPayload(tenant: string, seq: number): Promise<Payload | undefined>;
  /**
   * Like `getPayload`, but returns only the bytes of the body from `from` to `to` (exclusive). Also
   * returns undefined if the body is compressed; then use `getPayload`.
   */
  slicePayload(tenant: string, seq: number, from: number, to: number): Promise<Payload | undefined>;
  markProcessed(
    tenant: string,
    ids: string[],
    at: number,
    note: string | null,
  ): Promise<MarkResult>;
  /** Makes processed events pending again, unclaimed and without attempts. */
  reopenEvents(tenant: string, ids: readonly string[]): Promise<ReopenResult>;
  claimEvents(claim: Claim): Promise<EventRow[]>;
  /**
   * Claims a pending event that no other owner holds, and counts an attempt. If `by` already holds it,
   * renews the claim, even an expired one, and counts nothing. Undefined if the event does not exist.
   */
  claimEvent(claim: WorkerClaim): Promise<ClaimResult | undefined>;
  /**
   * Like `markProcessed` for one event, but only if `by` holds the claim, which may have expired.
   * Undefined if the event does not exist.
   */
  markClaimedProcessed(
    tenant: string,
    id: string,
    by: string,
    at: number,
    note: string | null,
  ): Promise<ClaimResult | undefined>;
  /** Ends the claims that `by` holds on these events. Returns the ids of the released events. */
  releaseEvents(
    tenant: string,
    ids: string[],
    by: string,
    options?: ReleaseOptions,
  ): Promise<string[]>;
  sweep(retention: Retention): Promise<SweepResult>;
  /**
   * Removes up to `limit` events by the retention times of `TenantSettings`. Visits the tenants that
   * have such times in the order of their ids, starting after the id `after`.
   */
  sweepTenants(after: string, time: RetentionTime, limit: number): Promise<TenantSweep>;
  /**
   * The types of the pending events, sorted bytewise, starting after the type `after`. Each type has
   * the source of its newest pending event.
   */
  listEventTypes(
    tenant: string,
    after: string,
    limit: number,
  ): Promise<{ source: string; type: string }[]>;
  /** Counts the newest `limit` events by source, type and `source_id`, and sorts by these fields. */
  listRecentTypes(tenant: string, limit: number): Promise<RecentType[]>;
  /**
   * Counts the events of each period: from `times[0]` until `times[1]`, from `times[1]` until `times[2]`,
   * and so on. `times` must ascend. The counts are differences of `seq`, so they include deleted events,
   * except those before the first and after the last remaining event of the range.
   */
  countReceived(tenant: string, times: readonly number[]): Promise<number[]>;
  /**
   * A random id of this database. A cursor is valid only in the database that created it. On PostgreSQL, the
   * 7th and 8th digit change with the timeline: a standby that was promoted may lack the newest events.
   */
  getLogId(): Promise<string>;
}

/** The numbers of removed events, by the reason of their removal. */
export interface TenantSweep extends Pick<SweepResult, "processed" | "expired"> {
  /** The `after` of the next call; null if all tenants were visited. */
  next: string | null;
}

/** Tenants, their GitHub installations, tokens and webhook endpoints. */
export interface TenantStore {
  /** Creates the tenant, or changes those fields of an existing tenant that are set. */
  putTenant(
    tenant: { id: string; name?: string | null; at: number } & Partial<TenantSettings>,
  ): Promise<Tenant>;
  getTenant(id: string): Promise<Tenant | undefined>;
  listTenants(after: string, limit: number): Promise<Tenant[]>;
  /** The stored bytes of all tenants in this database. */
  sumBytes(): Promise<{ events: number; runs: number }>;
  /**
   * Ignores an update that is not newer than the stored one; verbs/registry.ts lists the exceptions.
   * Returns the stored installation.
   */
  putInstallation(update: InstallationUpdate, at: number): Promise<Installation>;
  /** Ignores a name that is older than the stored one. `version` is GitHub's timestamp of the name. */
  renameTenant(id: string, name: string, version: number): Promise<void>;
  findInstallation(id: string): Promise<Installation | undefined>;
  listInstallations(tenant: string): Promise<Installation[]>;
  /** False if a token with this id or hash exists; that token is not changed. */
  putToken(token: NewStoredToken): Promise<boolean>;
  /**
   * If `token` is set, makes it valid, even if it was revoked before or was stored under another id.
   * Revokes all other tokens whose ids begin with `prefix`. The codes, sessions and OAuth grants that the revoked tokens
   * created are revoked too.
   */
  replaceTokens(prefix: string, token: NewStoredToken | undefined, at: number): Promise<void>;
  findToken(hash: string): Promise<Token | undefined>;
  getToken(id: string): Promise<Token | undefined>;
  /** Sorted by id, descending: the newest first. */
  listTokens(query: TokenQuery): Promise<Token[]>;
  /**
   * Also revokes the codes, sessions and OAuth grants that the token created. False if the token does
   * not exist or is already revoked: only one of several concurrent calls returns true.
   */
  revokeToken(id: string, at: number): Promise<boolean>;
  /**
   * The number of stored codes and sessions that a token has created, including revoked and expired
   * ones.
   */
  countChildren(parent: string): Promise<number>;
  /** Records that these tokens were used at `at`. Ignores a time before the recorded one. */
  touchTokens(ids: readonly string[], at: number): Promise<void>;
  /** Removes codes, sessions and OAuth tokens that expired before this time. Returns their number. */
  sweepSessions(expiredBefore: number, limit: number): Promise<number>;
  /**
   * Creates the endpoint, or changes its name and config. Stores the secret, if given, in the same
   * transaction.
   */
  putSource(source: Omit<SourceEndpoint, "secrets">, secret?: SourceSecret): Promise<void>;
  findSource(key: string): Promise<SourceEndpoint | undefined>;
  listSources(tenant?: string): Promise<SourceEndpoint[]>;
  deleteSource(id: string): Promise<boolean>;
  /** False if the endpoint does not exist. */
  addSourceSecret(source: string, secret: SourceSecret): Promise<boolean>;
  /** The secret verifies signatures only until `at`. False if the secret does not exist. */
  expireSourceSecret(source: string, secret: string, at: number): Promise<boolean>;
}

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

/** Webhook subscriptions. Only the process that leases a subscription delivers its events. */
export interface SubscriptionStore {
  /**
   * Creates a subscription. If it exists, changes its secret and expiry, and keeps its positions.
   * Returns undefined if the subscription is new and the principal has reached its limit.
   */
  putSubscription(
    subscription: NewSubscription,
    options: PutSubscriptionOptions,
  ): Promise<Subscription | undefined>;
  findSubscription(id: string): Promise<Subscription | undefined>;
  countSubscriptions(principal: string): Promise<number>;
  /**
   * With `ifUpdatedAt`, removes the subscription only if its `updated_at` has this value. If it was the
   * principal's last subscription to its URL, also removes the verification of the URL.
   */
  removeSubscription(id: string, ifUpdatedAt?: number): Promise<boolean>;
  /** Renews the leases of `by`, and leases free subscriptions. Returns the ids of both. */
  leaseSubscriptions(lease: Lease): Promise<string[]>;
  /** Ends the leases of `by`. */
  releaseSubscriptions(by: string): Promise<void>;
  /** Saves the progress of those subscriptions that `by` still leases, and returns their ids. */
  recordProgress(by: string, progress: DeliveryProgress[]): Promise<string[]>;
  /** Whether the principal has proved that the URL accepts its webhooks. */
  isVerified(principal: string, url: string): Promise<boolean>;
  putVerification(principal: string, url: string, at: number): Promise<void>;
}

export interface HealthStore {
  /** Writes one row. Rejects if the disk is full or the database is read-only. */
  checkWritable(at: number): Promise<void>;
  /** Updates the clock of retention (retention-clock.ts), and returns it. */
  observeClock(reading: ClockReading): Promise<RetentionClock>;
  /** Believes a step of the wall clock now. Undefined if no hub has used the database. */
  acceptClock(wall: number): Promise<RetentionClock | undefined>;
  getClock(): Promise<RetentionClock | undefined>;
}

export interface Store
  extends EventStore,
    TenantStore,
    PeopleStore,
    TenantDataStore,
    SubscriptionStore,
    FlowStore,
    RunStore,
    MatchingStore,
    ScheduleStore,
    SecretStore,
    ConnectionStore,
    OAuthStore,
    ConnectionGrantStore,
    RedeliveryStore,
    HealthStore {
  readonly backend: "sqlite" | "postgres" | "durable-object";
  /**
   * Calls the listener for each notice of this process or another replica. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: (notice: Notice) => void): () => void;
  /** Like `subscribe`, but only for the notices of this store's commits, not of other replicas. */
  onCommit(listener: (notice: Notice) => void): () => void;
  /**
   * Compresses large payloads in another thread, so that `appendEvents` does not block for long. Returns
   * the request unchanged on backends without threads, and if no payload is large.
   */
  packLarge(request: AppendRequest): MaybePromise<AppendRequest>;
  /** Undefined if the engine manages its files itself. */
  readonly file?: DatabaseFile;
  measureSize(): Promise<DatabaseSize>;
  /** Whether the data of one request caused the error, so that the rest of its batch can be stored. */
  isDataError(error: unknown): boolean;
  close(): Promise<void>;
}
