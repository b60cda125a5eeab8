/** Tenants: their limits, the export and the deletion of their data. */
import type { Kernel, Part } from "../part.ts";
import type { TokensPart } from "../tokens/part.ts";
import { createTenantDeletions } from "./tenant-deletions.ts";
import { tenantRoutes } from "./tenant-routes.ts";

export async function createTenantsPart(
  { store, ports, settings, tenant, closing, onError }: Kernel,
  { tokens }: TokensPart,
): Promise<Part> {
  const { timers } = ports;
  if (tenant !== undefined) await store.putTenant({ id: tenant, at: timers.now() });
  const deletions = createTenantDeletions({
    store,
    timers,
    isStopped: () => closing.aborted,
    onError,
  });
  return {
    routes: tenantRoutes({
      store,
      tokens,
      tenancy: settings.tenancy,
      defaults: settings,
      deletions,
      now: timers.now,
    }),
  };
}
