/**
 * Maps an event to its tenant when tenants are GitHub accounts: the installation in the verified
 * payload belongs to an account.
 *
 * Only events about an installation itself change its account, ordered by GitHub's timestamps:
 * GitHub delivers late and repeatedly, and an old delivery must not return an installation to its
 * previous account. Other events only register an unknown installation. `putInstallation` applies
 * this order.
 */

import { fromStore } from "../ingest/from-store.ts";
import type { Installation, Tenancy } from "../ingest/source.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import type { Store } from "../store/store.ts";

export const LOCAL_TENANT = "local";

/** Other replicas see a removal within this time. */
const CACHE_MS = 60_000;

/** `resolve` also updates the registry of installations in the store. */
export function createGithubTenancy(
  store: Pick<Store, "findInstallation" | "putInstallation">,
  now: () => number,
  monotonic = now,
): Tenancy {
  const cache = new BoundedMap<string, { tenant: string; until: number }>(50_000);
  /** Counts changes of installations: rows that were read before a change are not cached. */
  let changes = 0;

  const put = ({ id, account, about }: Required<Installation> | MentionedInstallation) =>
    fromStore(
      store.putInstallation(
        {
          id,
          tenant: account.id,
          account: account.login,
          version: about?.version ?? 0,
          change: about?.change ?? null,
        },
        now(),
      ),
    );

  /** An event about the installation itself belongs to the account in its payload. */
  async function update(installation: Required<Installation>): Promise<string | undefined> {
    const { id, account, about } = installation;
    const { tenant, removed_at } = await put(installation);
    changes += 1;
    if (removed_at === null) cache.set(id, { tenant, until: monotonic() + CACHE_MS });
    else cache.delete(id);
    return removed_at === null || about.change === "removed" ? account.id : undefined;
  }

  async function find({ id, account }: Installation): Promise<string | undefined> {
    const cached = cache.get(id);
    if (cached && cached.until > monotonic()) return cached.tenant;
    const changesBefore = changes;
    const found =
      (await fromStore(store.findInstallation(id))) ?? (account && (await put({ id, account })));
    if (!found || found.removed_at !== null) return undefined;
    if (changes === changesBefore)
      cache.set(id, { tenant: found.tenant, until: monotonic() + CACHE_MS });
    return found.tenant;
  }

  return {
    async resolve(installation) {
      if (!installation) return undefined;
      const { id, account, about } = installation;
      return account && about ? update({ id, account, about }) : find(installation);
    },
  };
}

type MentionedInstallation = Pick<Required<Installation>, "id" | "account"> & { about?: undefined };
