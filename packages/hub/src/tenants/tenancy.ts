/**
 * Whose event is it? With one tenant there is no question. With GitHub as the judge, the
 * installation in the (verified) payload leads to the account that owns it.
 *
 * Only events about an installation itself say whose it is, in the order of the times that GitHub
 * gives them: GitHub delivers late and again, and an old delivery must not hand an installation back
 * to whoever had it before. Any other event may make an unknown installation known, and no more. The
 * rule that orders them is `putInstallation`'s.
 */

import { BoundedMap } from "@signalbox/rules/bounded-map.ts";
import { fromStore } from "../ingest/from-store.ts";
import type { Installation, Tenancy } from "../ingest/source.ts";
import type { Store } from "../store/store.ts";

export const LOCAL_TENANT = "local";

/** So long may another replica go on after this one was told of a removal. */
const REMEMBER_MS = 60_000;

/** Keeps the registry up to date from the installations that it sees. */
export function createGithubTenancy(
  store: Pick<Store, "findInstallation" | "putInstallation">,
  now: () => number,
): Tenancy {
  const remembered = new BoundedMap<string, { tenant: string; until: number }>(50_000);
  /** Counts the events about installations: what was read before one of them may be out of date. */
  let changes = 0;

  const put = ({ id, account, about }: Required<Installation> | Known) =>
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

  /** An event about the installation itself belongs to the account that it names. */
  async function learn(installation: Required<Installation>): Promise<string | undefined> {
    const { id, account, about } = installation;
    const { tenant, removed_at } = await put(installation);
    changes += 1;
    if (removed_at === null) remembered.set(id, { tenant, until: now() + REMEMBER_MS });
    else remembered.delete(id);
    return removed_at === null || about.change === "removed" ? account.id : undefined;
  }

  async function find({ id, account }: Installation): Promise<string | undefined> {
    const known = remembered.get(id);
    if (known && known.until > now()) return known.tenant;
    const before = changes;
    const found =
      (await fromStore(store.findInstallation(id))) ?? (account && (await put({ id, account })));
    if (!found || found.removed_at !== null) return undefined;
    if (changes === before)
      remembered.set(id, { tenant: found.tenant, until: now() + REMEMBER_MS });
    return found.tenant;
  }

  return {
    async resolve(installation) {
      if (!installation) return undefined;
      const { id, account, about } = installation;
      return account && about ? learn({ id, account, about }) : find(installation);
    },
  };
}

type Known = Pick<Required<Installation>, "id" | "account"> & { about?: undefined };
