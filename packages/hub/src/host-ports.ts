/** The ports and the settings that a host passes to `createHub`. */
import type { GuardedFetch } from "@signalbox/rules/flows/outbound.ts";
import type { CommandSupport } from "./connections/command.ts";
import type { EventSettings } from "./events/settings.ts";
import type { FlowSettings } from "./flows/settings.ts";
import type { GithubAppCredentials } from "./github/github-app.ts";
import type { TrustedProxy } from "./kernel/http/addresses.ts";
import type { RunJob } from "./kernel/jobs/job.ts";
import type { MakeHmacKey, Sha256Hex } from "./kernel/lib/hmac.ts";
import type { BodyLimits } from "./kernel/lib/limits.ts";
import type { Log } from "./kernel/lib/log.ts";
import type { Timers } from "./kernel/lib/timers.ts";
import type { WebFetch } from "./kernel/lib/web-fetch.ts";
import type { Metrics } from "./kernel/metrics.ts";
import type { EffectiveSetting } from "./operations/settings-routes.ts";
import type { PeopleSettings } from "./people/settings.ts";
import type { RedeliverySettings } from "./redelivery/settings.ts";
import type { ReadWebFile } from "./web-ui/web-ui.ts";

/**
 * What the hub needs from its host. The host also creates a `LiveConnection`
 * (events/live/live-streams.ts) for each client of a live stream.
 */
export interface HostPorts {
  /** Requests URLs that the operator has configured. */
  fetch: typeof fetch;
  /** Requests URLs from flows and subscriptions. Rejects private addresses unless the operator allows them. */
  guardedFetch: GuardedFetch;
  /**
   * `guardedFetch` with the signature of `fetch` and with streamed bodies, as the client libraries of
   * MCP, OAuth and models require them.
   */
  guardedWebFetch: WebFetch;
  /** Runs MCP servers as child processes. */
  openCommand?: CommandSupport;
  /** Reads the files of the web UI. Undefined if the host does not serve it. */
  readWebFile?: ReadWebFile | undefined;
  /** Runs jobs that could block the event loop, with a deadline. */
  runJob: RunJob;
  /** Whether `runJob` leaves the event loop free. */
  runsJobsInBackground: boolean;
  /** The jobs that wait for a worker, by name. Undefined if they do not wait. */
  queuedJobs?: () => ReadonlyMap<string, number>;
  makeHmacKey: MakeHmacKey;
  sha256Hex: Sha256Hex;
  timers: Timers;
  /**
   * Defined only by hosts that evict idle hubs, such as Cloudflare. The hub calls it with the due time
   * of every timer, as Unix time in milliseconds. The host must start the hub again at that time.
   */
  wakeAt?: (time: number) => void;
  /** Schedules the group commit and the log lines of webhooks. Default: `timers.defer`. */
  deferCommit?: Timers["defer"];
  log: Log;
  metrics: Metrics;
}

export interface GithubSettings {
  /** The URL of GitHub, where people sign in; no trailing slash. */
  url: string;
  /** The URL of the REST API; no trailing slash. */
  apiUrl: string;
  /** Undefined if the hub cannot act as the GitHub App. */
  app?: GithubAppCredentials | undefined;
  /** Undefined if people cannot sign in with GitHub. */
  client?: { id: string; secret: string } | undefined;
  /** The name of the App in its URL, `{url}/apps/{slug}`. */
  slug?: string | undefined;
}

export interface HubSettings
  extends EventSettings,
    FlowSettings,
    PeopleSettings,
    RedeliverySettings {
  version: string;
  /** The address where the hub listens; also used to check `Host` and `Origin` (kernel/http/host-check.ts). */
  host: string;
  port: number;
  publicUrl: string | undefined;
  /** The tenant in the callback URL. Set only on Cloudflare, where each tenant has a Durable Object with its own hub. */
  callbackTenant?: string | undefined;
  /** Additional host names that the check of `Host` and `Origin` accepts. */
  hosts?: readonly string[];
  /** The limits of JSON bodies; undefined = the defaults. */
  limits?: BodyLimits | undefined;
  /** Whether other machines can reach the hub. */
  isPublic: boolean;
  /** Whether `/metrics` needs a token. */
  metricsNeedToken: boolean;
  /** `single`: one tenant, "local". `github`: one tenant for each account that installs the GitHub App. */
  tenancy: "single" | "github";
  /**
   * False if another Durable Object (`TenantRegistry`) stores tokens and tenants, and requests
   * redeliveries from GitHub. Default: true.
   */
  hasRegistry?: boolean;
  /** The operator's token. The host stores it; if undefined, the host generates one on the first start. */
  adminToken: string | undefined;
  /** A token for commands on the same machine, valid while this hub runs. */
  localToken?: string | undefined;
  /** The 32-byte key that encrypts stored secrets. */
  sealKey: Uint8Array;
  /** Keys that the key has replaced. They only decrypt. */
  formerSealKeys?: readonly Uint8Array[];
  /** The secrets of the shared endpoints, by source id. */
  secrets: Record<string, readonly string[]>;
  /** Whether the hub accepts webhooks of sources that have no secret. */
  allowUnsigned: boolean;
  github: GithubSettings;
  proxy: TrustedProxy | undefined;
  /** The maximum total size of the webhook and callback bodies in memory. */
  bodyBudgetBytes: number;
  /** How often retention runs; undefined = the default of the sweeper. */
  sweepEveryMs: number | undefined;
  /** Whether URLs of subscriptions, connections and models may be `http://`, for private networks without certificates. */
  allowHttp: boolean;
  /** The maximum number of open streams: live streams, streams of runs, and `events/stream` of MCP. */
  maxStreams: number;
  /** The settings that `GET /api/settings` returns. */
  effectiveSettings?: readonly EffectiveSetting[];
}
