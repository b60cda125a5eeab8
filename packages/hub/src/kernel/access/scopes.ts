/** The scopes and tenants that a token can have, and the roles of people. */
import { SCOPES, type Scope } from "@signalbox/contract/scopes.ts";

export type { Scope } from "@signalbox/contract/scopes.ts";

export {
  DEFAULT_SCOPES,
  EVERY_TENANT,
  LOCAL_TENANT,
  MAX_TENANTS,
} from "@signalbox/contract/scopes.ts";

export const scopes: readonly Scope[] = SCOPES;

/** `member`: may access the tenant's inbox and runs. `admin`: may access all data of the tenant. */
export type Role = "member" | "admin";
