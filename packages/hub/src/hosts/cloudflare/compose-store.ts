/** Composes the store of an object: of its own verbs, and of verbs that run in other objects. */
import type { Notice } from "../../store/sql.ts";
import type { AppendRequest, Store, Tenant } from "../../store/store.ts";
import { registryTables } from "../../store/tenant-tables.ts";
import type { Verbs } from "../../store/verbs/index.ts";
import { PLACES, type PlacedVerb } from "./store-places.ts";

export interface ComposeOptions {
  own: Store;
  registry: Verbs;
  /** The store of a tenant: the own one, or one in another object. */
  storeOf(tenant: string): Verbs;
  /** Subscribes to the notices of other objects. */
  subscribe?: Store["subscribe"];
}

export function composeStore({ own, registry, storeOf, subscribe }: ComposeOptions): Store {
  const placed = Object.fromEntries(
    Object.entries(PLACES).map(([name, place]) => {
      const verb = name as PlacedVerb;
      if (place === "own") return [verb, own[verb]];
      const storeFor = (args: unknown[]) =>
        place === "registry" ? registry : storeOf(tenantOf(args));
      const call = (...args: unknown[]) =>
        (storeFor(args)[verb] as (...args: unknown[]) => unknown)(...args);
      return [verb, call];
    }),
  ) as unknown as Verbs;
  const both = (listener: (notice: Notice) => void) => {
    const stops = [own.subscribe(listener), subscribe?.(listener)];
    return () => {
      for (const stop of stops) stop?.();
    };
  };
  return {
    ...own,
    ...placed,
    ...combinedVerbs({ registry, storeOf }),
    subscribe: both,
    onCommit: both,
  };
}

type Combined = {
  [Name in PlacedVerb as (typeof PLACES)[Name] extends "combined" ? Name : never]: Verbs[Name];
};

const combinedVerbs = ({
  registry,
  storeOf,
}: Pick<ComposeOptions, "registry" | "storeOf">): Combined => {
  /** The counters of a tenant belong to its store, everything else to the registry. */
  const withCounters = async (tenant: Tenant): Promise<Tenant> => {
    const stored = await storeOf(tenant.id).getTenant(tenant.id);
    const { seq, pruned_seq, pending, bytes } = stored ?? tenant;
    return { ...tenant, seq, pruned_seq, pending, bytes };
  };
  return {
    async appendEvents(batch, quota) {
      const results = new Map<AppendRequest, unknown>();
      for (const [tenant, requests] of Map.groupBy(batch, ({ tenant }) => tenant)) {
        // `data` is for matching only, which has happened.
        const stored = requests.map(({ data: _, ...request }) => request);
        const appended = await storeOf(tenant).appendEvents(stored, quota);
        for (const [nth, request] of requests.entries()) results.set(request, appended[nth]);
      }
      return batch.map((request) => results.get(request)) as Awaited<
        ReturnType<Verbs["appendEvents"]>
      >;
    },
    async getTenant(id) {
      const registered = await registry.getTenant(id);
      return registered ? withCounters(registered) : storeOf(id).getTenant(id);
    },
    async putTenant(tenant) {
      const registered = await registry.putTenant(tenant);
      await storeOf(tenant.id).putTenant(tenant);
      return withCounters(registered);
    },
    listTenants: async (after, limit) =>
      Promise.all((await registry.listTenants(after, limit)).map(withCounters)),
    async putInstallation(update, at) {
      const installation = await registry.putInstallation(update, at);
      // The account may have been deleted as a tenant before.
      if (installation.removed_at === null)
        await storeOf(installation.tenant).putTenant({ id: installation.tenant, at });
      return installation;
    },
    exportRows: (page) =>
      (registryTables.includes(page.table) ? registry : storeOf(page.tenant)).exportRows(page),
    // First the registry, which has the tokens.
    startDeletion: async (tenant, at) =>
      [
        await registry.startDeletion(tenant, at),
        await storeOf(tenant).startDeletion(tenant, at),
      ].includes(true),
    async continueDeletion(tenant, limit) {
      if (!(await storeOf(tenant).continueDeletion(tenant, limit))) return false;
      if (!(await registry.continueDeletion(tenant, limit))) return false;
      // It was installed again in the meantime.
      const again = await registry.getTenant(tenant);
      if (again) await storeOf(tenant).putTenant({ id: tenant, at: again.created_at });
      return true;
    },
    async queueRuns(runs) {
      const [run] = runs;
      return run ? storeOf(run.tenant).queueRuns(runs) : [];
    },
  };
};

/** The first argument is a tenant, or a value or values that have one. */
function tenantOf([first]: unknown[]): string {
  if (typeof first === "string") return first;
  const named = (Array.isArray(first) ? first[0] : first) as { tenant?: unknown } | undefined;
  if (typeof named?.tenant !== "string") throw new Error("The arguments name no tenant.");
  return named.tenant;
}
