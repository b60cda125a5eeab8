export const scopes: readonly Scope[] = [
  "inbox:read",
  "inbox:write",
  "flows:call",
  "runs:read",
  "metrics:read",
  "admin",
];

/** The scopes that an agent needs, for its inbox and the tools of apps. */
export const DEFAULT_SCOPES: readonly Scope[] = ["inbox:read", "inbox:write", "flows:call"];

export const EVERY_TENANT = "*";

/**
 * The maximum number of tenants per token. A cursor has a position for each tenant, and must fit
 * into a header.
 */
export const MAX_TENANTS = 200;

export const LOCAL_TENANT = "local";

export type Scope =
  | "inbox:read"
  | "inbox:write"
  | "flows:call"
  | "runs:read"
  | "metrics:read"
  | "admin";

/** People who sign in with GitHub, and the tenants that they may access. */

/** `member`: may access the tenant's inbox and runs. `admin`: may access all data of the tenant. */
export type Role = "member" | "admin";
