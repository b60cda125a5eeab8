import { withStore } from "../../hub/src/hosts/cli/with-store.ts";
import { localUrl, type Settings } from "../../hub/src/settings.ts";
import {
  connectToHub,
  createHubClient,
  findRunningHub,
  type HubClient,
  type HubLocation,
} from "./hub-client.ts";
import { serveFlags } from "./same-hub-flags.ts";

type Tenancy = Settings["tenancy"];

export interface WithHubOptions {
  /**
   * Returns the tenant of the requests; undefined if the token determines it. The tenancy of a hub on
   * another machine is undefined if the settings do not contain it.
   */
  chooseTenant(tenancy: Tenancy | undefined): string | undefined;
  /** Whether to create a missing database. */
  create: boolean;
}

/**
 * Calls `work` with a client of the management API. The client uses the hub in SIGNALBOX_URL, else the hub
 * that runs on the data folder, which then applies changes immediately. If no hub is running, this process
 * serves the API itself, on the database.
 */
export async function withHub(
  settings: Settings,
  { chooseTenant, create }: WithHubOptions,
  work: (hub: HubClient) => Promise<void>,
): Promise<void> {
  const { url, tenancy } = settings;
  if (url !== undefined) {
    const isTenancyGiven = settings.origins.some(
      ({ name, from }) => name === "tenancy" && from !== "default",
    );
    return work(
      connectToHub(settings, { tenant: chooseTenant(isTenancyGiven ? tenancy : undefined) }),
    );
  }
  const running = await findRunningHub(settings);
  if (running) return work(createHubClient(running, { tenant: chooseTenant(running.tenancy) }));
  const tenant = chooseTenant(tenancy);
  await withStore(settings, { create }, async (store) => {
    // Loaded only here, since commands start faster without the routes.
    const { serveInProcess } = await import("../../hub/src/hosts/cli/serve-in-process.ts");
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
