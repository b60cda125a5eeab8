/** The hub as a GitHub App: checks the credentials, and schedules the sweep of failed webhooks. */
import type { HostPorts, HubSettings, RedeliveryGauges } from "./host-ports.ts";
import { type RedeliverySchedule, scheduleRedelivery } from "./redelivery/schedule.ts";
import type { Store } from "./store/store.ts";
import { createGithubApp, type GithubApp } from "./tenants/github-app.ts";

export interface HubGithubOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
  /** The owner of all events; undefined if the installation identifies the tenant. */
  tenant: string | undefined;
  /** Aborted when the hub stops. */
  closing: AbortSignal;
}

export interface HubGithub {
  app: GithubApp;
  gauges(): Promise<RedeliveryGauges>;
  /** Undefined if the operator has turned it off, or another process does it. */
  scheduleRedelivery(by: string): RedeliverySchedule | undefined;
}

/** Higher counts are reported as this number. */
const MAX_COUNTED = 10_000;

/** Undefined without the credentials of an App. Rejects if the key is not readable. */
export async function createHubGithub(options: HubGithubOptions): Promise<HubGithub | undefined> {
  const { store, ports, settings, tenant, closing } = options;
  const { log, timers, metrics } = ports;
  const { hasRegistry = true, github } = settings;
  const { app: credentials, apiUrl, redeliverEveryMs } = github;
  if (!credentials) return undefined;
  const requests = { apiUrl, fetch: ports.fetch, now: timers.now };
  // A sweep is aborted when the hub stops; a webhook that has been accepted is not.
  const abortable = await createGithubApp(credentials, { ...requests, signal: closing });
  return {
    app: await createGithubApp(credentials, requests),
    async gauges() {
      const [{ open, given_up }, sweep] = await Promise.all([
        store.countRedeliveries(MAX_COUNTED),
        store.getSweep(),
      ]);
      return {
        open,
        given_up,
        completedAt: sweep?.completed_at ?? 0,
        lastSweepFailed: typeof sweep?.error === "string",
      };
    },
    scheduleRedelivery(by) {
      if (redeliverEveryMs === undefined || !hasRegistry) return undefined;
      return scheduleRedelivery({
        store,
        app: abortable,
        tenant,
        by,
        everyMs: redeliverEveryMs,
        timers,
        log,
        onCounted: metrics.redelivery,
      });
    },
  };
}
