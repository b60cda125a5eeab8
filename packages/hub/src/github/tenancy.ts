/**
 * Maps an event to its tenant when tenants are GitHub accounts: the installation in the verified
 * payload belongs to an account.
 *
 * Only events about an installation itself change its account and its state, ordered by GitHub's
 * timestamps: GitHub delivers late and repeatedly, and an old delivery must not return an installation
 * to its previous account. `putInstallation` applies this order. Other events only register an unknown
 * installation: the hub looks up its account at GitHub if it can act as the App, and otherwise uses the
 * owner in the payload.
 */

import type { Installation, NoTenant, Owner, Tenancy } from "../events/admit/source.ts";
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import { wrapStoreErrors } from "../kernel/store/availability.ts";
import type { Store } from "../store.ts";
import type { Installation as StoredInstallation } from "../tenants/model.ts";
import type { FoundInstallation, LookUpInstallation } from "./look-up-installation.ts";

/** Other replicas see a removal within this time. */
const CACHE_MS = 60_000;

export interface GithubTenancyOptions {
  store: Pick<Store, "findInstallation" | "putInstallation" | "renameTenant">;
  now: () => number;
  monotonic?: () => number;
  /** Undefined if the hub cannot act as the GitHub App. */
  lookUp?: LookUpInstallation | undefined;
}

type Account = NonNullable<Installation["account"]>;

/** `resolve` also updates the registry of installations in the store. */
export function createGithubTenancy({
  store,
  now,
  monotonic = now,
  lookUp,
}: GithubTenancyOptions): Tenancy {
  const cache = new BoundedMap<string, { tenant: string; until: number }>(50_000);
  /** Counts changes of installations: rows that were read before a change are not cached. */
  let changes = 0;

  const put = (id: string, account: Account, about: Installation["about"]) =>
    wrapStoreErrors(
      store.putInstallation(
        {
          id,
          tenant: account.id,
          account: account.login,
          version: about?.version ?? 0,
          change: about?.change ?? null,
          suspended_at: about?.suspended_at ?? null,
        },
        now(),
      ),
    );

  /** An event about the installation itself belongs to the account in its payload. */
  async function update(
    id: string,
    account: Account,
    about: NonNullable<Installation["about"]>,
  ): Promise<Owner> {
    const stored = await put(id, account, about);
    changes += 1;
    const reason = inactiveReason(stored);
    if (reason) cache.delete(id);
    else cache.set(id, { tenant: stored.tenant, until: monotonic() + CACHE_MS });
    // The event that reports a removal or a suspension still belongs to the tenant.
    return stored.removed_at === null || about.change === "removed"
      ? { tenant: account.id }
      : withoutTenant("removed");
  }

  /** Looks up an installation at GitHub that is unknown, or whose suspension may have ended. */
  async function register(
    { id, account }: Installation,
    stored: StoredInstallation | undefined,
  ): Promise<StoredInstallation | NoTenant> {
    const lookedUp = await lookUp?.(id);
    if (typeof lookedUp === "object")
      return put(id, lookedUp.account, stateOf(lookedUp, stored, now()));
    if (stored) return stored;
    if (lookedUp === "unknown") return "unknown";
    // The signed payload names the owner, so the event does not wait until GitHub is available.
    if (account) return put(id, account, undefined);
    return lookedUp ?? "unknown";
  }

  async function find(installation: Installation): Promise<Owner> {
    const { id } = installation;
    const cached = cache.get(id);
    if (cached && cached.until > monotonic()) return { tenant: cached.tenant };
    const changesBefore = changes;
    const stored = await wrapStoreErrors(store.findInstallation(id));
    const isCurrent = stored && (stored.removed_at !== null || stored.suspended_at === null);
    const installationRow = isCurrent ? stored : await register(installation, stored);
    if (typeof installationRow === "string") return withoutTenant(installationRow);
    const reason = inactiveReason(installationRow);
    if (reason) return withoutTenant(reason);
    if (changes === changesBefore)
      cache.set(id, { tenant: installationRow.tenant, until: monotonic() + CACHE_MS });
    return { tenant: installationRow.tenant };
  }

  return {
    async resolve(installation) {
      if (!installation) return withoutTenant("none");
      const { id, account, about, renamedAt } = installation;
      if (account && about) return update(id, account, about);
      const owner = await find(installation);
      if (owner.tenant === account?.id && account?.login && renamedAt !== undefined)
        await wrapStoreErrors(store.renameTenant(account.id, account.login, renamedAt));
      return owner;
    },
  };
}

const withoutTenant = (reason: NoTenant): Owner => ({ reason });

const inactiveReason = ({ removed_at, suspended_at }: StoredInstallation): NoTenant | undefined =>
  removed_at !== null ? "removed" : suspended_at !== null ? "suspended" : undefined;

/** Returns the state that GitHub reports. It has no version, so the stored version is used. */
const stateOf = (
  { isSuspended }: FoundInstallation,
  stored: StoredInstallation | undefined,
  now: number,
): Installation["about"] => ({
  version: stored?.version ?? 0,
  change: isSuspended ? null : "restored",
  suspended_at: isSuspended ? now : null,
});
