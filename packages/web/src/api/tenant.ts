/** The tenant that the requests of this tab are about, if a tenant must be named. */
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

/** Whether the session no longer has the chosen tenant. Without a person, no tenants are all tenants. */
export const isGone = (
  { person, tenants }: { person: unknown; tenants: readonly string[] },
  tenant: string | undefined,
): boolean =>
  tenant !== undefined && (person !== null || tenants.length > 0) && !tenants.includes(tenant);

/**
 * The only tenant of a person, which the tab then keeps: the tenants of a person change while the tab is
 * open, and its caches and its live stream belong to one tenant.
 */
export const tenantToPin = (
  { person, tenants }: { person: unknown; tenants: readonly string[] },
  tenant: string | undefined,
): string | undefined =>
  person !== null && tenant === undefined && tenants.length === 1 ? tenants[0] : undefined;

/** Whether a tenant must be chosen before a page can load. No tenants in the session: all of them. */
export const needsTenant = (tenants: readonly string[], tenant: string | undefined): boolean =>
  tenants.length !== 1 &&
  (tenant === undefined || (tenants.length > 0 && !tenants.includes(tenant)));
