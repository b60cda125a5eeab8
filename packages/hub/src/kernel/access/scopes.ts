/** The scopes and tenants that a token can have, and the roles of people. */
import { SCOPES, type Scope } from "@signalbox/contract/scopes.ts";

export type { Scope } from "@signalbox/contract/scopes.ts";

export { DEFAULT_SCOPES, MAX_TENANTS } from "@signalbox/contract/scopes.ts";

export const scopes: readonly Scope[] = SCOPES;

export const EVERY_TENANT = "*";

export const LOCAL_TENANT = "local";

/** `member`: may access the tenant's inbox and runs. `admin`: may access all data of the tenant. */
export type Role = "member" | "admin";
