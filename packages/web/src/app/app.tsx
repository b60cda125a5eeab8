import { QueryClientProvider } from "@tanstack/react-query";
import { Tooltip } from "radix-ui";
import { type ComponentType, type LazyExoticComponent, lazy, Suspense, useState } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";
import { chosenTenant, hasLostTenant, needsTenant } from "../api/tenant.ts";
import { ButtonLink } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { Toaster } from "../ui/toast.tsx";
import { AdminsOnly } from "./admins-only.tsx";
import { LostTenantPage } from "./lost-tenant-page.tsx";
import { NoTenantPage } from "./no-tenant-page.tsx";
import { PageBoundary } from "./page-boundary.tsx";
import { queryClient } from "./query-client.ts";
import { useIsAdmin, useSession } from "./session.ts";
import { Shell } from "./shell.tsx";
import { SignInPage } from "./sign-in-page.tsx";
import { TenantPage } from "./tenant-page.tsx";

type Lazy = LazyExoticComponent<ComponentType>;

/** Each path is a pattern of wouter. The first that matches is used. Every page is a lazy chunk. */
const ROUTES: readonly { path: string; page: Lazy; needsAdmin?: true }[] = [
  { path: "/inbox/:event?", page: lazy(() => import("../inbox/inbox-page.tsx")) },
  { path: "/flows", page: lazy(() => import("../flows/flows-page.tsx")), needsAdmin: true },
  { path: "/flows/:flow", page: lazy(() => import("../canvas/canvas-page.tsx")), needsAdmin: true },
  { path: "/runs", page: lazy(() => import("../runs/runs-page.tsx")) },
  { path: "/runs/:run", page: lazy(() => import("../runs/run-page.tsx")) },
  {
    path: "/connections/authorized",
    page: lazy(() => import("../connections/authorized-page.tsx")),
    needsAdmin: true,
  },
  {
    path: "/connections/:connection?",
    page: lazy(() => import("../connections/connections-page.tsx")),
    needsAdmin: true,
  },
  { path: "/sources", page: lazy(() => import("../sources/sources-page.tsx")), needsAdmin: true },
  {
    path: "/settings/:section?",
    page: lazy(() => import("../settings/settings-page.tsx")),
    needsAdmin: true,
  },
  { path: "/connect", page: lazy(() => import("../connect/connect-page.tsx")) },
];

export function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <Tooltip.Provider delayDuration={350}>
        <Switch>
          <Route path="/sign-in" component={SignInPage} />
          <Route>
            <SignedIn />
          </Route>
        </Switch>
        <Toaster />
      </Tooltip.Provider>
    </QueryClientProvider>
  );
}

function SignedIn() {
  // Setting this state renders the component again after a tenant was chosen.
  const [, setTenant] = useState(chosenTenant);
  const [location] = useLocation();
  const { data: session, error, refetch } = useSession();
  const isAdmin = useIsAdmin();
  if (session === undefined)
    return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : null;
  if (session === null) return <SignInPage />;
  if (session.person && session.tenants.length === 0)
    return <NoTenantPage login={session.person.login} hub={session.hub} />;
  const tenant = chosenTenant();
  if (tenant !== undefined && hasLostTenant(session, tenant))
    return <LostTenantPage tenant={tenant} />;
  if (needsTenant(session.tenants, tenant))
    return <TenantPage tenants={session.tenants} onChosen={() => setTenant(chosenTenant())} />;
  return (
    <Shell session={session}>
      <Switch>
        <Route path="/">
          <Redirect to="/inbox" replace />
        </Route>
        {ROUTES.map(({ path, page: Page, needsAdmin }) => (
          <Route key={path} path={path}>
            <PageBoundary location={location}>
              <Suspense fallback={<SkeletonRows />}>
                {needsAdmin && !isAdmin ? <AdminsOnly /> : <Page />}
              </Suspense>
            </PageBoundary>
          </Route>
        ))}
        <Route>
          <NotFound />
        </Route>
      </Switch>
    </Shell>
  );
}

const NotFound = () => (
  <EmptyState
    title="There is no such page"
    actions={<ButtonLink to="/inbox">Go to the inbox</ButtonLink>}
  >
    The address may be misspelled, or the page was removed.
  </EmptyState>
);
