/** Asks for a tenant, if the session has access to several tenants or to all. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client.ts";
import { chooseTenant } from "../api/tenant.ts";
import { Button } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { Field, TextInput } from "../ui/field.tsx";
import { plural } from "../ui/format.ts";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { Logo } from "./logo.tsx";
import { usePageTitle } from "./use-page-title.ts";

export function TenantPage({
  tenants,
  onChosen,
}: {
  tenants: readonly string[];
  onChosen: () => void;
}) {
  usePageTitle("Choose a tenant");
  const [typed, setTyped] = useState("");
  const choose = (tenant: string) => {
    if (tenant === "") return;
    chooseTenant(tenant);
    onChosen();
  };
  return (
    <main className="grid h-full place-items-center overflow-y-auto p-6">
      <div className="tile flex w-[440px] max-w-full flex-col gap-4 p-6 shadow-tile">
        <div className="flex items-center gap-3">
          <Logo size={32} />
          <h1 className="type-h1">Choose a tenant</h1>
        </div>
        <div className="track" aria-hidden />
        <TenantList onChoose={choose} />
        {tenants.length === 0 && (
          <form
            className="flex flex-col gap-4"
            onSubmit={(event) => {
              event.preventDefault();
              choose(typed.trim());
            }}
          >
            <Field
              label="Tenant"
              hint="This session has access to all tenants. With GitHub tenancy, enter the id of a GitHub account."
            >
              {(control) => (
                <TextInput
                  {...control}
                  code
                  value={typed}
                  onChange={(event) => setTyped(event.target.value)}
                />
              )}
            </Field>
            <Button type="submit" look="primary" disabled={typed.trim() === ""}>
              Open
            </Button>
          </form>
        )}
      </div>
    </main>
  );
}

function TenantList({ onChoose }: { onChoose: (tenant: string) => void }) {
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(
    {
      queryKey: ["tenants"],
      queryFn: ({ pageParam }) =>
        api.get("/api/tenants", { query: { limit: 100, cursor: pageParam } }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (page) => page.next_cursor ?? undefined,
    },
  );
  if (!data)
    return error ? (
      <ErrorState compact error={error} onRetry={() => void refetch()} />
    ) : (
      <SkeletonRows rows={3} height={40} />
    );
  const tenants = data.pages.flatMap(({ items }) => items);
  if (tenants.length === 0)
    return (
      <p className="text-ink-2">
        There are no tenants yet. The first webhook of an account creates its tenant.
      </p>
    );
  return (
    <>
      <ul className="flex flex-col gap-2">
        {tenants.map(({ id, name, pending }) => (
          <li key={id}>
            <Button className="w-full" onClick={() => onChoose(id)}>
              <span className="truncate">{name ?? id}</span>
              <span className="type-meta text-ink-3">{plural(pending, "waiting event")}</span>
            </Button>
          </li>
        ))}
      </ul>
      {hasNextPage && (
        <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Load more
        </Button>
      )}
    </>
  );
}
