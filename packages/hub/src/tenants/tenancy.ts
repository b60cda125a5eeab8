/**
 * Whose event is it? With one tenant there is no question. With GitHub as the judge, the
 * installation in the (verified) payload leads to the account that owns it.
 */
import type { Installation } from "../ingest/source.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Store } from "../store/store.ts";

export const LOCAL_TENANT = "local";

export interface Tenancy {
  /** The tenant of an installation, or undefined where nothing says whose it is. */
  resolve(installation: Installation | undefined): Promise<string | undefined>;
}

const REMEMBER_MS = 60_000;

/** Keeps the registry up to date from the installations that it sees. */
export function createGithubTenancy(
  store: Pick<Store, "findInstallation" | "putInstallation" | "removeInstallation">,
  now: () => number,
): Tenancy {
  const remembered = new BoundedMap<string, { tenant: string; until: number }>(50_000);

  return {
    async resolve(installation) {
      if (!installation) return undefined;
      const { id, account, change } = installation;
      const known = remembered.get(id);
      const isCurrent = known && known.until > now() && (!account || account.id === known.tenant);
      if (isCurrent && !change) return known.tenant;

      let tenant = account?.id;
      if (account)
        await store.putInstallation({ id, tenant: account.id, account: account.login }, now());
      else tenant = (await store.findInstallation(id))?.tenant;
      if (change === "removed") await store.removeInstallation(id, now());
      if (tenant === undefined) return undefined;
      remembered.set(id, { tenant, until: now() + REMEMBER_MS });
      return tenant;
    },
  };
}
