/**
 * Determines the tenants of a person: the person's own account, and the organizations in which the person
 * has an active membership, if they have installed the App.
 *
 * GitHub's list of installations is not sufficient: it also contains every account in which the person
 * can read only a single repository.
 */

import type { Role } from "../kernel/access/scopes.ts";
import { MAX_TENANTS } from "../kernel/access/scopes.ts";
import type { Membership } from "./model.ts";

export interface GithubIdentity {
  id: string;
  /** The ids of the accounts with an installation that the person can access. */
  installedIn: readonly string[];
  organizations: readonly { id: string; state: string; role: string }[];
}

export function membershipsOf({ id, installedIn, organizations }: GithubIdentity): Membership[] {
  const roles = new Map<string, Role>();
  // A billing manager is not a member.
  for (const { id, state, role } of organizations)
    if (state === "active" && (role === "admin" || role === "member")) roles.set(id, role);
  roles.set(id, "admin");
  return [...new Set(installedIn)]
    .flatMap((tenant) => {
      const role = roles.get(tenant);
      return role === undefined ? [] : [{ tenant, role }];
    })
    .sort((a, b) => (a.tenant < b.tenant ? -1 : 1))
    .slice(0, MAX_TENANTS);
}
