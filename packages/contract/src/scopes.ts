/** The scopes and tenants that a token can have. */
export const SCOPES = [
  "inbox:read",
  "inbox:write",
  "flows:call",
  "runs:read",
  "metrics:read",
  "admin",
] as const;
export type Scope = (typeof SCOPES)[number];

/** The scopes that an agent needs, for its inbox and the tools of apps. */
export const DEFAULT_SCOPES: readonly Scope[] = ["inbox:read", "inbox:write", "flows:call"];

/**
 * The maximum number of tenants per token. A cursor has a position for each tenant, and must fit
 * into a header.
 */
export const MAX_TENANTS = 200;
const MAX_TENANTS_LENGTH = 4_000;

/** Stands for all tenants. */
export const EVERY_TENANT = "*";

/** The tenant of a hub with one tenant. */
export const LOCAL_TENANT = "local";

/** The ids of the tokens from SIGNALBOX_TOKEN begin with it. */
export const ENV_ID_PREFIX = "env-";

/** Returns why a token cannot have these tenants; undefined if it can. */
export function tenantsError(tenants: readonly string[]): string | undefined {
  if (!tenants.every((tenant) => tenant.isWellFormed())) return "must be tenant ids";
  const length = tenants.map(encodeURIComponent).join("").length;
  return tenants.length > MAX_TENANTS || length > MAX_TENANTS_LENGTH
    ? `must have at most ${MAX_TENANTS} items with ${MAX_TENANTS_LENGTH} characters in total (URL-encoded); create several tokens, or one for ${EVERY_TENANT}`
    : undefined;
}

/** For a hub with one tenant: returns an error if one of these tenants does not exist. */
export function unknownTenantError(tenants: readonly string[]): string | undefined {
  const unknown = tenants.find((tenant) => tenant !== LOCAL_TENANT && tenant !== EVERY_TENANT);
  return unknown === undefined
    ? undefined
    : `${JSON.stringify(unknown)} does not exist: this hub has only the tenant ${LOCAL_TENANT}. Omit it, or set SIGNALBOX_TENANCY=github if the tenants are GitHub accounts`;
}
