/** What the hub needs from its host, and the settings that it runs with. */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import type { Trip } from "@signalbox/rules/match/breaker.ts";
import type { DeliveryOutcome } from "./deliver/delivery.ts";
import type { TrustedProxy } from "./ingest/addresses.ts";
import type { IngestObservation } from "./ingest/ingest-log.ts";
import type { MakeHmacKey } from "./lib/hmac.ts";
import type { Log } from "./lib/log.ts";
import type { Timers } from "./lib/timers.ts";
import type { Retention } from "./store/store.ts";
import type { SweepReason } from "./store/sweeper.ts";

/** The live transport is not here: the host makes a `LiveConnection` (api/) for each client. */
export interface HostPorts {
  /** Requests to URLs that the operator has configured. */
  fetch: typeof fetch;
  /** Requests to URLs that flows and subscribers name; it does not reach private networks. */
  guardedFetch: GuardedFetch;
  /** Runs code and expressions of flows where they cannot block the event loop. */
  evaluate: Evaluate;
  makeHmacKey: MakeHmacKey;
  timers: Timers;
  /**
   * For a host that evicts an idle hub, such as a Durable Object with alarms: it must start the hub
   * again at `time`, in milliseconds since 1970. Called for every timer.
   */
  wakeAt?: (time: number) => void;
  log: Log;
  metrics: HubMetrics;
}

export interface HubMetrics {
  observe(observation: IngestObservation): void;
  /** A group commit of that many requests. */
  batch(size: number): void;
  swept(reason: SweepReason, count: number): void;
  delivery(outcome: DeliveryOutcome): void;
  trip(limit: Trip["limit"]): void;
  /** For `/metrics`. */
  text(): Promise<string>;
  contentType: string;
}

export interface HubSettings {
  version: string;
  /** Where the hub listens; requests with another `Host` or `Origin` are rejected. */
  host: string;
  port: number;
  publicUrl: string | undefined;
  /** `single`: one tenant, "local". `github`: one tenant for each account that installs the App. */
  tenancy: "single" | "github";
  /** The token of the operator; generated on the first start if undefined. */
  adminToken: string | undefined;
  /** 32 bytes that encrypt stored secrets. */
  sealKey: Uint8Array;
  /** Webhook secrets by source. */
  secrets: Record<string, readonly string[]>;
  /** Accept webhooks of sources that have no secret. */
  allowUnsigned: boolean;
  /** Accept GitHub's webhooks from GitHub's addresses only. */
  githubAddressesOnly: boolean;
  githubApiUrl: string;
  proxy: TrustedProxy | undefined;
  /** Webhooks per client and second; 0 = no limit. */
  rateLimit: number;
  /** Pending events per tenant. */
  quota: number | null;
  /** All webhook bodies that are being read. */
  bodyBudgetBytes: number;
  retention: Pick<Retention, "processedFor" | "pendingFor" | "maxBytes">;
  keepRunsMs: number;
  sweepEveryMs: number | undefined;
  /** MCP Events (a draft) on /mcp, with webhooks to subscribers. */
  eventsDraft: boolean;
  /** Subscribers may have http:// endpoints: inside a private network few have certificates. */
  allowHttp: boolean;
  runConcurrency: number;
  runLeaseMs: number;
  /** How many runs and events may cause each other, one after another. */
  maxChain: number;
  /** How often a minute a trigger may fire on events that its own flow has caused. */
  maxLoops: number;
}
