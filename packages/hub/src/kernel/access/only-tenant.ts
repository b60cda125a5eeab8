import { RequestError } from "../lib/request-error.ts";
import type { Access } from "./authorizer.ts";
import { EVERY_TENANT } from "./scopes.ts";

/** Returns the tenant of a request that must name exactly one. With `everyTenant`, it may be `*`. */
export function onlyTenant(
  { tenants: [tenant, another] }: Pick<Access, "tenants">,
  { everyTenant = false }: { everyTenant?: boolean } = {},
): string {
  if (tenant === undefined || another !== undefined)
    throw new RequestError("invalid", "tenant", "is missing: name one with ?tenant=…");
  if (tenant === EVERY_TENANT && !everyTenant)
    throw new RequestError("invalid", "tenant", "must be one tenant, not all");
  return tenant;
}
