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
