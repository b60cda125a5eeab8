/** Creates the client that acts as the GitHub App, and the schedule of sweeps for failed webhooks. */

import { createGithubApp, type GithubApp } from "./github/github-app.ts";
import type { HostPorts, HubSettings, RedeliveryGauges } from "./host-ports.ts";
import type { Store } from "./kernel/store/store.ts";
import { type RedeliverySchedule, scheduleRedelivery } from "./redelivery/schedule.ts";

export interface HubGithubOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
  /** The tenant of all events; undefined if the hub has several tenants. */
  tenant: string | undefined;
  /** Aborted when the hub stops. */
  closing: AbortSignal;
}

export interface HubGithub {
  app: GithubApp;
  readGauges(): Promise<RedeliveryGauges>;
  /**
   * Starts the sweeps. Returns undefined if the operator has turned them off, or if the Durable Object
   * with the registry does them.
   */
  scheduleRedelivery(processId: string): RedeliverySchedule | undefined;
}

/** Counting stops at this number, so that the query stays cheap. */
const MAX_COUNTED = 10_000;

/** Returns undefined if the settings have no credentials of an App. Rejects if the private key is invalid. */
export async function createHubGithub(options: HubGithubOptions): Promise<HubGithub | undefined> {
  const { store, ports, settings, tenant, closing } = options;
  const { log, timers, metrics } = ports;
  const { hasRegistry = true, github } = settings;
  const { app: credentials, apiUrl, redeliverEveryMs } = github;
  if (!credentials) return undefined;
  const requestOptions = { apiUrl, fetch: ports.fetch, now: timers.now };
  // When the hub stops, it aborts the requests of a sweep, but not those for a webhook that it is still
  // processing.
  const sweepApp = await createGithubApp(credentials, { ...requestOptions, signal: closing });
  return {
    app: await createGithubApp(credentials, requestOptions),
    async readGauges() {
      const [{ open, given_up }, sweep] = await Promise.all([
        store.countRedeliveries(MAX_COUNTED),
        store.getRedeliverySweep(),
      ]);
      return {
        open,
        given_up,
        completedAt: sweep?.completed_at ?? 0,
        lastCheckFailed: typeof sweep?.error === "string",
      };
    },
    scheduleRedelivery(processId) {
      if (redeliverEveryMs === undefined || !hasRegistry) return undefined;
      return scheduleRedelivery({
        store,
        app: sweepApp,
        tenant,
        by: processId,
        everyMs: redeliverEveryMs,
        timers,
        log,
        onCounted: metrics.countRedeliveries,
      });
    },
  };
}
