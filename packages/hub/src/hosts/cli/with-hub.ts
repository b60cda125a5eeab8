import { localUrl, type Settings } from "../settings.ts";
import {
  connectToHub,
  createHubClient,
  findRunningHub,
  type HubClient,
  type HubLocation,
} from "./hub-client.ts";
import { serveFlags } from "./same-hub-flags.ts";
import { withStore } from "./with-store.ts";

type Tenancy = Settings["tenancy"];

export interface WithHubOptions {
  /**
   * Returns the tenant of the requests; undefined if the token determines it. The tenancy of a remote
   * hub is undefined unless the settings name it.
   */
  tenantIn(tenancy: Tenancy | undefined): string | undefined;
  /** Create a missing database. */
  create: boolean;
}

/**
 * Gives `work` the management routes of the API: of the hub in SIGNALBOX_URL, else of the hub that runs
 * on the data folder, so that it learns of changes at once. If none runs, the routes are served in this
 * process, on the database.
 */
export async function withHub(
  settings: Settings,
  { tenantIn, create }: WithHubOptions,
  work: (hub: HubClient) => Promise<void>,
): Promise<void> {
  const { url, tenancy } = settings;
  if (url !== undefined) {
    const isGiven = settings.origins.some(
      ({ name, from }) => name === "tenancy" && from !== "default",
    );
    return work(connectToHub(settings, { tenant: tenantIn(isGiven ? tenancy : undefined) }));
  }
  const running = await findRunningHub(settings);
  if (running) return work(createHubClient(running, { tenant: tenantIn(running.tenancy) }));
  const tenant = tenantIn(tenancy);
  await withStore(settings, { create }, async (store) => {
    // Loaded only here, since the commands start faster without the routes.
    const { serveInProcess } = await import("./serve-in-process.ts");
    const { fetch, token, close } = await serveInProcess(store, settings);
    try {
      const location: HubLocation = {
        url: localUrl(settings),
        token,
        isTokenGiven: false,
        from: "default",
        serveFlags: serveFlags(settings),
      };
      await work(createHubClient(location, { tenant, fetch }));
    } finally {
      await close();
    }
  });
}
