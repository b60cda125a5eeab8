import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { type Parsed, text, UsageError } from "./command.ts";
import type { WithHubOptions } from "./with-hub.ts";

/** The tenant in --tenant; on a hub with several tenants, the option is required. */
export const ownerTenant =
  (flags: Parsed["flags"], owned: string): WithHubOptions["tenantIn"] =>
  (tenancy) => {
    const given = text(flags.tenant);
    if (given === undefined && tenancy === "github")
      throw new UsageError(
        `Missing option: name the owner of the ${owned} with --tenant ACCOUNT_ID.`,
      );
    return given ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  };
