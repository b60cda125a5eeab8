import { RequestError } from "../lib/request-error.ts";
import type { Access } from "./authorizer.ts";

/** The tenant of a request that concerns one. */
export function onlyTenant({ tenants: [tenant, another] }: Pick<Access, "tenants">): string {
  if (tenant === undefined || another !== undefined)
    throw new RequestError("invalid", "tenant", "is missing: name one with ?tenant=…");
  return tenant;
}
