/** The hub as a GitHub App: it finds the tenant of a webhook by its installation. */

import type { Tenancy } from "../events/admit/source.ts";
import type { Kernel } from "../part.ts";
import { createGithubApp, type GithubApp } from "./github-app.ts";
import { createLookUpInstallation, requestInstallation } from "./look-up-installation.ts";
import { createGithubTenancy } from "./tenancy.ts";

export interface GithubPart {
  /** Undefined if the hub has one tenant. */
  tenancy: Tenancy | undefined;
  /**
   * Acts as the App, until the hub stops: then it aborts the requests. Undefined if the settings have no
   * credentials of an App.
   */
  app: GithubApp | undefined;
}

/** Rejects if the private key of the App is invalid. */
export async function createGithubPart(kernel: Kernel): Promise<GithubPart> {
  const { store, ports, tenant } = kernel;
  const { now, monotonic } = ports.timers;
  const { app, lookUp } = await createApps(kernel);
  return {
    tenancy:
      tenant === undefined ? createGithubTenancy({ store, now, monotonic, lookUp }) : undefined,
    app,
  };
}

async function createApps({ ports, settings, closing }: Kernel) {
  const { app: credentials, apiUrl } = settings.github;
  if (!credentials) return { app: undefined, lookUp: undefined };
  const { timers, log } = ports;
  const options = { apiUrl, fetch: ports.fetch, now: timers.now };
  // Look-ups for a webhook that the hub is still processing are not aborted.
  const lookUpApp = await createGithubApp(credentials, options);
  return {
    app: await createGithubApp(credentials, { ...options, signal: closing }),
    lookUp: createLookUpInstallation(requestInstallation(lookUpApp, log), timers.monotonic),
  };
}
