/**
 * The seam between the hub and its database. Each verb is atomic; when a promise that changes
 * something resolves, the change survives a crash. The same contract suite (contract.ts) runs on
 * every backend.
 */
import type { Json } from "@signalbox/rules/json.ts";
import type { FlowStore } from "./flow-store.ts";
import type { EventPlan, RunStore, TrippedTrigger } from "./run-store.ts";
import type { SecretStore } from "./secret-store.ts";
import type { Notice } from "./sql.ts";

/** What a list shows of an event. Absent in the payload → null. */
export interface Summary {
  action: string | null;
  repo: string | null;
  sender: string | null;
  number: number | null;
  title: string | null;
  url: string | null;
}

export type TriggerStatus = "pending" | "running" | "succeeded" | "failed";

/** An event as lists show it: everything but its payload. */
export interface EventRow extends Summary {
  id: string;
  tenant: string;
  seq: number;
  source: string;
  source_id: string;
  external_id: string | null;
  type: string;
  received_at: number;
  processed: boolean;
  processed_at: number | null;
  note: string | null;
  trigger_status: TriggerStatus | null;
  last_triggered_at: number | null;
  outcome: string | null;
  claimed_by: string | null;
  claimed_until: number | null;
  size: number;
}

/** The bytes that came in, and the headers that it takes to check their signature again. */
export interface Payload {
  content_type: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

export interface NewEvent extends Summary, Payload {
  id: string;
  source: string;
  /** Which endpoint took it; delivery ids are unique within one. */
  source_id: string;
  external_id: string | null;
  type: string;
  received_at: number;
}

/** The events of one request. They are stored together or not at all. */
export interface AppendRequest {
  tenant: string;
  events: NewEvent[];
  /** The parsed payloads of `events`, in the same order, for matching. They are not stored. */
  data?: readonly Json[];
  skipQuota?: boolean;
  /** What they cause, by the triggers as of `revision`; `events` is empty where nothing could be caused. */
  plan?: { revision: number; events: readonly EventPlan[] };
}

export type AppendResult =
  | {
      outcome: "stored";
      events: { id: string; seq: number; duplicate: boolean }[];
      /** Where triggers were stopped; see match/breaker.ts. */
      tripped?: TrippedTrigger[];
    }
  | { outcome: "duplicate"; events: { id: string; seq: number; duplicate: boolean }[] }
  | { outcome: "over_quota"; pending: number; quota: number };

/** Triggers have changed since the plan was made: nothing is stored, and another plan is needed. */
export interface StalePlan {
  outcome: "stale";
}

export interface PendingStatus {
  pending_count: number;
  latest_received_at: number | null;
  types: Record<string, number>;
}

export interface EventQuery {
  tenant: string;
  limit: number;
  /** Only events beyond this place in the log, in the direction of `order`. */
  cursor?: number | undefined;
  order?: "newest" | "oldest" | undefined;
  pending?: boolean | undefined;
  type?: string | undefined;
  repo?: string | undefined;
  source?: string | undefined;
}

export interface SearchQuery {
  tenant: string;
  limit: number;
  /** Newest first; only events before this place in the log. */
  cursor?: number | undefined;
  text?: string | undefined;
  type?: string | undefined;
  from?: number | undefined;
  to?: number | undefined;
  processed?: boolean | undefined;
}

export interface Page<Item> {
  items: Item[];
  /** Where to go on, also where a page is not full; null when there is no more. */
  next: number | null;
}

export interface Claim {
  tenant: string;
  by: string;
  limit: number;
  now: number;
  until: number;
  type?: string | undefined;
}

export interface MarkResult {
  marked: string[];
  already: string[];
  unknown: string[];
}

export interface Retention {
  now: number;
  processedFor: number;
  pendingFor: number;
  /** Bytes of payload that one tenant may keep. */
  maxBytes: number;
  /** How many events one call removes at the most: sweeping never holds the writers up for long. */
  limit: number;
}

export interface SweepResult {
  processed: number;
  expired: number;
  overflow: number;
  /** Something was removed, so there may be more to remove. */
  more: boolean;
}

export interface Tenant {
  id: string;
  name: string | null;
  created_at: number;
  seq: number;
  /** Events up to here may have been removed by retention. */
  pruned_seq: number;
  pending: number;
  bytes: number;
  quota: number | null;
}

export interface Installation {
  id: string;
  tenant: string;
  account: string | null;
  /** The time, by GitHub's clock, of what says so; 0 where nothing but a mention does. */
  version: number;
  removed_at: number | null;
}

/** What an event says of an installation. */
export interface InstallationUpdate extends Omit<Installation, "removed_at"> {
  change: "removed" | "revived" | null;
}

export type Scope = "inbox:read" | "inbox:write" | "flows:call" | "admin";

export interface Token {
  id: string;
  name: string;
  hash: string;
  scopes: Scope[];
  /** Whose data it opens; `*` is everybody's. */
  tenants: string[];
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
}

/** A webhook endpoint of one tenant. Secrets are sealed before they come here. */
export interface Source {
  id: string;
  tenant: string;
  kind: string;
  name: string;
  key: string;
  config: Record<string, unknown>;
  secrets: SourceSecret[];
  created_at: number;
}

export interface SourceSecret {
  id: string;
  sealed: string;
  created_at: number;
  expires_at: number | null;
}

/** The log of events: everything that one tenant's inbox needs. */
export interface EventStore {
  appendEvents(batch: AppendRequest[], quota: number | null): Promise<(AppendResult | StalePlan)[]>;
  pendingStatus(tenant: string): Promise<PendingStatus>;
  listEvents(query: EventQuery): Promise<Page<EventRow>>;
  searchEvents(query: SearchQuery): Promise<Page<EventRow>>;
  getEvent(tenant: string, id: string): Promise<EventRow | undefined>;
  getPayload(tenant: string, seq: number): Promise<Payload | undefined>;
  markProcessed(
    tenant: string,
    ids: string[],
    at: number,
    note: string | null,
  ): Promise<MarkResult>;
  claimEvents(claim: Claim): Promise<EventRow[]>;
  /** Gives back what `by` holds; answers with the ids that were given back. */
  releaseEvents(tenant: string, ids: string[], by: string): Promise<string[]>;
  sweep(retention: Retention): Promise<SweepResult>;
  /**
   * Types of which events are pending, in the order of their bytes, those after `after`; each with
   * the source of its newest one.
   */
  listEventTypes(
    tenant: string,
    after: string,
    limit: number,
  ): Promise<{ source: string; type: string }[]>;
  /** The same for as long as the database is there: places in the log of another mean nothing here. */
  getLogId(): Promise<string>;
}

/** Who is who: tenants, their installations, tokens and webhook endpoints. */
export interface Registry {
  /** Creates what is not there; changes only the fields that are given. */
  putTenant(tenant: {
    id: string;
    name?: string | null;
    quota?: number | null;
    at: number;
  }): Promise<Tenant>;
  getTenant(id: string): Promise<Tenant | undefined>;
  listTenants(after: string, limit: number): Promise<Tenant[]>;
  /** Only what is newer changes anything; answers with what holds now. */
  putInstallation(seen: InstallationUpdate, at: number): Promise<Installation>;
  findInstallation(id: string): Promise<Installation | undefined>;
  /** False when a token with this id or hash is there already; that one stays as it is. */
  putToken(token: Omit<Token, "revoked_at">): Promise<boolean>;
  /**
   * Of the tokens whose ids begin with `prefix`, from now on only this one is good (or none), even
   * where it was revoked before or was there under another id.
   */
  replaceTokens(
    prefix: string,
    token: Omit<Token, "revoked_at"> | undefined,
    at: number,
  ): Promise<void>;
  findToken(hash: string): Promise<Token | undefined>;
  getToken(id: string): Promise<Token | undefined>;
  listTokens(): Promise<Token[]>;
  /** False when there is no such token, or it was revoked before. */
  revokeToken(id: string, at: number): Promise<boolean>;
  /** With a secret in the same transaction, so that a new endpoint is never there without one. */
  putSource(source: Omit<Source, "secrets">, secret?: SourceSecret): Promise<void>;
  findSource(key: string): Promise<Source | undefined>;
  listSources(tenant?: string): Promise<Source[]>;
  deleteSource(id: string): Promise<boolean>;
  addSourceSecret(source: string, secret: SourceSecret): Promise<boolean>;
  /** The secret stops to verify at `at`, so that senders have time to change over. */
  expireSourceSecret(source: string, secret: string, at: number): Promise<boolean>;
}

/** Who wants which events, and where they are pushed to. Its places in the logs are its queue. */
export interface Subscription extends DeliveryProgress {
  /** Made of all that it is unique by: principal, tenants, name, arguments and URL. */
  id: string;
  /** The id of the token that asked for it. */
  principal: string;
  tenants: string[];
  name: string;
  arguments: Record<string, string | number>;
  url: string;
  /** Sealed before they come here. */
  secret: string;
  /** By which a new secret is told from the same one, sealed again. */
  secret_hash: string;
  /** Signs as well, until then. */
  former_secret: string | null;
  former_until: number | null;
  expires_at: number;
  leased_by: string;
  leased_until: number;
  created_at: number;
  updated_at: number;
}

/** How far the deliveries of a subscription have come. */
export interface DeliveryProgress {
  id: string;
  /** The last place that was delivered or passed over, by tenant. */
  places: Record<string, number>;
  /** Something was given up, and the subscriber does not know yet. */
  gap: boolean;
  /** Failed attempts at what comes next. */
  attempt: number;
  failing_since: number | null;
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
  | "places"
  | "expires_at"
>;

export interface SubscriptionTerms {
  now: number;
  /** How many one principal may have. */
  limit: number;
  /** Until when a secret that is replaced signs as well. */
  formerUntil: number;
}

export interface Lease {
  by: string;
  now: number;
  until: number;
  /** How many that nobody holds are taken at the most. */
  limit: number;
}

/** Webhook subscriptions. Whoever holds the lease delivers, and nobody else. */
export interface SubscriptionStore {
  /**
   * Stores a new one; one that is there keeps its places and gets the new secret and end. Undefined
   * where the principal has as many as it may.
   */
  putSubscription(
    subscription: NewSubscription,
    terms: SubscriptionTerms,
  ): Promise<Subscription | undefined>;
  /** With the token of its principal, where that is still there. */
  findSubscription(
    id: string,
  ): Promise<{ subscription: Subscription; token: Token | undefined } | undefined>;
  countSubscriptions(principal: string): Promise<number>;
  /**
   * With `unchangedSince`, its `updated_at` as it was read, only while nobody has refreshed it. The
   * last one to an endpoint takes the endpoint's verification with it.
   */
  removeSubscription(id: string, unchangedSince?: number): Promise<boolean>;
  /** Renews what `by` holds and takes what nobody holds; answers with the ids of all that it holds now. */
  leaseSubscriptions(lease: Lease): Promise<string[]>;
  releaseSubscriptions(by: string): Promise<void>;
  /** Answers with the ids that `by` still holds; the progress of others is not changed. */
  recordProgress(by: string, progress: DeliveryProgress[]): Promise<string[]>;
  isVerified(principal: string, url: string): Promise<boolean>;
  putVerification(principal: string, url: string, at: number): Promise<void>;
}

export interface Store
  extends EventStore,
    Registry,
    SubscriptionStore,
    FlowStore,
    RunStore,
    SecretStore {
  readonly backend: "sqlite" | "postgres" | "durable-object";
  /** Writes, so that a full disk or a read-only database shows. */
  checkWritable(at: number): Promise<void>;
  /** Notices of what was committed, by this process or another replica. */
  subscribe(listener: (notice: Notice) => void): () => void;
  /** True for an error that one row of a batch causes, and that its neighbours need not share. */
  isDataError(error: unknown): boolean;
  close(): Promise<void>;
}
