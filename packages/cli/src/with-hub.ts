/** Connects commands with the hub that they change, or with an API that this process serves. */
import { LOCAL_TENANT } from "@signalbox/contract/scopes.ts";
import { asString, type Flags, UsageError } from "./command.ts";
import { connectToHub, createHubClient, findRunningHub, type HubClient } from "./hub-client.ts";
import { serveFlags } from "./same-hub-flags.ts";
import { type ClientSettings, localUrl, type Tenancy } from "./settings.ts";

/** What a program gives to a command that runs with these flags. */
export interface Session {
  settings: ClientSettings;
  /** Returns the secret of a source in the settings of a hub. */
  secretOf?(source: string): string | undefined;
  /** Serves the API in this process, on the database. Undefined if the program has no store. */
  serveLocally?: ServeLocally;
}

type ServeLocally = (
  options: {
    /** Whether to create a missing database. */
    create: boolean;
  },
  work: (api: { fetch: typeof fetch; token: string }) => Promise<void>,
) => Promise<void>;

export type OpenSession = (flags: Flags) => Session;

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
 * serves the API itself, if it can.
 */
export async function withHub(
  { settings, serveLocally }: Session,
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
  if (!serveLocally) return work(connectToHub(settings, { tenant }));
  await serveLocally({ create }, ({ fetch, token }) =>
    work(
      createHubClient(
        {
          url: localUrl(settings),
          token,
          isTokenGiven: false,
          from: "default",
          serveFlags: serveFlags(settings),
        },
        { tenant, fetch },
      ),
    ),
  );
}

/**
 * Chooses the tenant in --tenant, which is required on a hub with several tenants. `owned` names what belongs
 * to the tenant, for the error.
 */
export const ownerTenant =
  (flags: Flags, owned: string): WithHubOptions["chooseTenant"] =>
  (tenancy) => {
    const tenant = asString(flags.tenant);
    if (tenant === undefined && tenancy === "github")
      throw new UsageError(
        `Missing option: name the owner of the ${owned} with --tenant ACCOUNT_ID.`,
      );
    return tenant ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  };
