/** The tenant that the requests of this tab name. A session with a single tenant needs none. */
const KEY = "signalbox.tenant";

const read = (): string | undefined => {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
};
let chosen = read();

export const chosenTenant = (): string | undefined => chosen;

export function chooseTenant(tenant: string | undefined): void {
  chosen = tenant;
  try {
    if (tenant === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, tenant);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

/**
 * Whether the session no longer has the chosen tenant. A session without a person and without tenants
 * has access to all tenants.
 */
export const hasLostTenant = (
  { person, tenants }: { person: unknown; tenants: readonly string[] },
  tenant: string | undefined,
): boolean =>
  tenant !== undefined && (person !== null || tenants.length > 0) && !tenants.includes(tenant);

/**
 * Returns the tenant that the tab should choose automatically: the only tenant of a person. The tenants
 * of a person can change while the tab is open, but its caches and its live stream belong to one tenant.
 */
export const tenantToPin = (
  { person, tenants }: { person: unknown; tenants: readonly string[] },
  tenant: string | undefined,
): string | undefined =>
  person !== null && tenant === undefined && tenants.length === 1 ? tenants[0] : undefined;

/** Whether a tenant must be chosen before a page can load. A session without tenants has access to all. */
export const needsTenant = (tenants: readonly string[], tenant: string | undefined): boolean =>
  tenants.length !== 1 &&
  (tenant === undefined || (tenants.length > 0 && !tenants.includes(tenant)));
