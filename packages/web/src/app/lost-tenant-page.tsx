/**
 * Shown if the session has lost access to the tenant of this tab. The button loads the app again, so
 * that no data of the lost tenant remains in memory.
 */
import { ArrowRight } from "lucide-react";
import { chooseTenant } from "../api/tenant.ts";
import { Button } from "../ui/button.tsx";
import { Logo } from "./logo.tsx";
import { queryClient } from "./query-client.ts";
import { tenantNameQuery } from "./tenant-name.ts";
import { usePageTitle } from "./use-page-title.ts";

export function LostTenantPage({ tenant }: { tenant: string }) {
  usePageTitle("No access");
  const name = queryClient.getQueryData(tenantNameQuery(tenant).queryKey) ?? tenant;
  const leave = () => {
    chooseTenant(undefined);
    location.assign("/inbox");
  };
  return (
    <main className="grid h-full place-items-center overflow-y-auto p-6">
      <div className="tile flex w-[440px] max-w-full flex-col gap-4 p-6 shadow-tile">
        <div className="flex items-center gap-3">
          <Logo size={32} />
          <h1 className="type-h1">No access</h1>
        </div>
        <div className="track" aria-hidden />
        <p role="alert" className="wrap-anywhere text-ink-2">
          You no longer have access to {name}.
        </p>
        <Button look="primary" icon={ArrowRight} onClick={leave}>
          Continue
        </Button>
      </div>
    </main>
  );
}
