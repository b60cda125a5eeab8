/** The ports that a host provides to the hub, and the settings of the hub. */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import type { Trip } from "@signalbox/rules/match/breaker.ts";
import type { EffectiveSetting } from "./api/settings-routes.ts";
import type { ReadWebFile } from "./api/web-ui.ts";
import type { OpenCommand } from "./connections/command.ts";
import type { DeliveryOutcome } from "./deliver/delivery.ts";
import type { TrustedProxy } from "./ingest/addresses.ts";
import type { IngestObservation } from "./ingest/ingest-log.ts";
import type { MakeHmacKey, Sha256Hex } from "./lib/hmac.ts";
import type { BodyLimits } from "./lib/limits.ts";
import type { Log } from "./lib/log.ts";
import type { Timers } from "./lib/timers.ts";
import type { WebFetch } from "./lib/web-fetch.ts";
import type { RedeliveryOutcome } from "./redelivery/schedule.ts";
import type { RunMetrics } from "./runs/run-metrics.ts";
import type { Retention } from "./store/store.ts";
import type { SweepReason } from "./store/sweeper.ts";
import type { GithubAppCredentials } from "./tenants/github-app.ts";

/** For live streams, the host also implements a `LiveConnection` (api/) for each client. */
export interface HostPorts {
  /** For URLs that the operator has configured. */
  fetch: typeof fetch;
  /** For URLs in flows and subscriptions. Rejects private addresses unless the operator allows them. */
  guardedFetch: GuardedFetch;
  /** The same guard as a `fetch` that streams, for libraries: connections and models. */
  guardedWebFetch: WebFetch;
  /** Runs MCP servers as processes. Undefined if the host cannot, or the operator does not allow it. */
  openCommand?: OpenCommand | undefined;
  /** Reads the files of the web UI. Undefined if the host does not serve it. */
  readWebFile?: ReadWebFile | undefined;
  /** Evaluates code, expressions and schemas of flow authors, with a deadline. */
  evaluate: Evaluate;
  makeHmacKey: MakeHmacKey;
  sha256Hex: Sha256Hex;
  timers: Timers;
  /**
   * Only for hosts that evict idle hubs, such as Durable Objects. The hub calls it with the due time
   * of every timer, as Unix time in milliseconds. The host must start the hub again at that time.
   */
  wakeAt?: (time: number) => void;
  /**
   * Schedules the commit of new events, so that concurrent requests join it; by default `timers.defer`.
   */
  deferCommit?: Timers["defer"];
  log: Log;
  metrics: HubMetrics;
}

export interface HubMetrics extends RunMetrics {
  observe(observation: IngestObservation): void;
  /** Called after each group commit with its number of requests. */
  batch(size: number): void;
  swept(reason: SweepReason, count: number): void;
  delivery(outcome: DeliveryOutcome): void;
  trip(limit: Trip["limit"]): void;
  /** Webhooks that GitHub failed to deliver. */
  redelivery(outcome: RedeliveryOutcome, count: number): void;
  /** Called once. The gauges are read for each response of `/metrics`. */
  watch(gauges: HubGauges): void;
  /** The response body of `/metrics`. */
  text(): Promise<string>;
  contentType: string;
}

export interface HubGauges {
  /** The number of pending events of all tenants. */
  pendingEvents(): Promise<number>;
  /** The number of clients of `GET /events`. */
  connectedStreams(): number;
  /** Undefined if the hub does not check for webhooks that GitHub failed to deliver. */
  redelivery?: () => Promise<RedeliveryGauges>;
}

export interface RedeliveryGauges {
  open: number;
  given_up: number;
  /** When a sweep last read all new attempts, as Unix time in milliseconds; 0 if none did. */
  completedAt: number;
  lastSweepFailed: boolean;
}

export interface GithubSettings {
  /** GitHub itself, where people sign in; without a slash at the end. */
  url: string;
  /** The REST API; without a slash at the end. */
  apiUrl: string;
  /** Undefined if the hub cannot act as the GitHub App. */
  app?: GithubAppCredentials | undefined;
  /** Undefined if people cannot sign in with GitHub. */
  client?: { id: string; secret: string } | undefined;
  /** The name of the App in `{url}/apps/{slug}`. */
  slug?: string | undefined;
  /** How often the hub checks for webhooks that GitHub failed to deliver; undefined: never. */
  redeliverEveryMs?: number | undefined;
}

export interface HubSettings {
  version: string;
  /** The address where the hub listens; also used to check `Host` and `Origin` (api/host-check.ts). */
  host: string;
  port: number;
  publicUrl: string | undefined;
  /** Only on a host where every tenant has its own hub: the tenant that the URL for callbacks names. */
  callbackTenant?: string | undefined;
  /** More names under which clients reach the hub. */
  hosts?: readonly string[];
  /** The limits of JSON bodies; undefined: the defaults. */
  limits?: BodyLimits | undefined;
  /** Whether other machines can reach the hub. */
  isPublic: boolean;
  /** `single`: one tenant, "local". `github`: one tenant for each account that installs the GitHub App. */
  tenancy: "single" | "github";
  /** False if another process holds the registry, and does the work that concerns all tenants. */
  hasRegistry?: boolean;
  /** The operator's token; if undefined, the hub generates one on its first start. */
  adminToken: string | undefined;
  /** A token for commands on the same machine, valid while this hub runs. */
  localToken?: string | undefined;
  /** The key of 32 bytes that encrypts stored secrets. */
  sealKey: Uint8Array;
  /** The secrets of the shared endpoints, by source id. */
  secrets: Record<string, readonly string[]>;
  /** Accept webhooks of sources that have no secret. */
  allowUnsigned: boolean;
  /** Accept GitHub's webhooks from GitHub's addresses only. */
  githubAddressesOnly: boolean;
  github: GithubSettings;
  proxy: TrustedProxy | undefined;
  /** The failure limit per client and second (ingest/rate-limit.ts); 0 = no limits. */
  rateLimit: number;
  /** The maximum number of pending events per tenant; null = no limit. */
  quota: number | null;
  /** The maximum total size of the webhook bodies that are being read. */
  bodyBudgetBytes: number;
  retention: Pick<Retention, "processedFor" | "pendingFor" | "maxBytes">;
  /** How long ended runs and deleted flows are kept. */
  keepRunsMs: number;
  /** After this time, GitHub must confirm the memberships of a person again. */
  membershipRecheckMs: number;
  /** Undefined: the default of the sweeper. */
  sweepEveryMs: number | undefined;
  /** Offer the draft of MCP Events on /mcp, with webhooks to subscribers. */
  eventsDraft: boolean;
  /** Accept subscriptions with http:// URLs, for private networks without certificates. */
  allowHttp: boolean;
  runConcurrency: number;
  runLeaseMs: number;
  /** The maximum number of open streams: live streams and streams of runs. */
  maxStreams: number;
  /** The maximum total size of the values that a run stores with its steps. */
  maxRunBytes: number;
  /** The maximum `depth` of a run: how many events and calls may lead to it. */
  maxChain: number;
  /** All settings of the operator, for the API. */
  effectiveSettings?: readonly EffectiveSetting[];
  /** How many times per minute a trigger may fire on events that its own flow has caused. */
  maxLoops: number;
}
