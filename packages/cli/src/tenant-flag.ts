import { LOCAL_TENANT } from "@signalbox/contract/scopes.ts";
import { asString, type Parsed, UsageError } from "./command.ts";
import type { WithHubOptions } from "./with-hub.ts";

/**
 * Chooses the tenant in --tenant, which is required on a hub with several tenants. `owned` names what belongs
 * to the tenant, for the error.
 */
export const ownerTenant =
  (flags: Parsed["flags"], owned: string): WithHubOptions["chooseTenant"] =>
  (tenancy) => {
    const tenant = asString(flags.tenant);
    if (tenant === undefined && tenancy === "github")
      throw new UsageError(
        `Missing option: name the owner of the ${owned} with --tenant ACCOUNT_ID.`,
      );
    return tenant ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  };
