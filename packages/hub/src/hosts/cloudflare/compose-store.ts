/** Composes the store of an object from its own verbs and from verbs that run in other objects. */
import type { PlannedRequest } from "../../flows/matching/model.ts";
import { isDataError } from "../../kernel/backends/durable-object.ts";
import { StorageUnavailable } from "../../kernel/store/availability.ts";
import { type VerbsIn, verbsOf } from "../../kernel/store/verb.ts";
import { type Store, storeDefinition, type Verbs } from "../../store.ts";
import type { Tenant } from "../../tenants/model.ts";
import { tenantTables } from "../../tenants/tenant-tables.ts";

export interface ComposeOptions {
  own: Store;
  registry: Verbs;
  /** Returns the store of a tenant, which is `own` or in another object. */
  storeOf(tenant: string): Verbs;
  /** Subscribes to the notices of other objects. */
  subscribe?: Store["subscribe"];
}

export function composeStore({ own, registry, storeOf, subscribe }: ComposeOptions): Store {
  const placedVerbs = Object.fromEntries(
    verbsOf(storeDefinition).map(([name, { place }]) => {
      const verb = name as keyof Verbs;
      if (place === "own") return [verb, own[verb]];
      const storeFor = (args: unknown[]) =>
        place === "registry" ? registry : storeOf(tenantOf(args));
      const call = (...args: unknown[]) =>
        (storeFor(args)[verb] as (...args: unknown[]) => unknown)(...args);
      return [verb, call];
    }),
  ) as unknown as Verbs;
  const subscribeToAll: Store["subscribe"] = (...listener) => {
    const stops = [own.subscribe(...listener), subscribe?.(...listener)];
    return () => {
      for (const stop of stops) stop?.();
    };
  };
  return {
    ...own,
    ...placedVerbs,
    ...combinedVerbs({ own, registry, storeOf }),
    subscribe: subscribeToAll,
    // Without replicas, there are no commits of other processes.
    onCommit: subscribeToAll,
  };
}

const combinedVerbs = ({
  own,
  registry,
  storeOf,
}: Omit<ComposeOptions, "subscribe">): Pick<Verbs, VerbsIn<typeof storeDefinition, "combined">> => {
  /** The store of the tenant has its counters; the registry has everything else. */
  const withCounters = async (tenant: Tenant): Promise<Tenant> => {
    const stored = await storeOf(tenant.id).getTenant(tenant.id);
    const { seq, pruned_seq, pending, bytes, runs_bytes } = stored ?? tenant;
    return { ...tenant, seq, pruned_seq, pending, bytes, runs_bytes };
  };
  const registryTables = new Set(
    tenantTables(own.tables).flatMap(({ id, isInRegistry }) => (isInRegistry ? [id] : [])),
  );
  return {
    async appendEvents(batch, quota) {
      const results = new Map<PlannedRequest, unknown>();
      for (const [tenant, requests] of Map.groupBy(batch, ({ tenant }) => tenant)) {
        // `data` is only for matching, which precedes this call.
        const stored = requests.map(({ data: _, ...request }) => request);
        const appended = await storeOf(tenant).appendEvents(stored, quota);
        for (const [index, request] of requests.entries()) results.set(request, appended[index]);
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
      // Creates the tenant in its store again, if it was deleted there before.
      if (installation.removed_at === null)
        await storeOf(installation.tenant).putTenant({ id: installation.tenant, at });
      return installation;
    },
    exportRows: (page) =>
      (registryTables.has(page.table) ? registry : storeOf(page.tenant)).exportRows(page),
    // The registry is first, since it revokes the tokens.
    startDeletion: async (tenant, at) =>
      [
        await registry.startDeletion(tenant, at),
        await storeOf(tenant).startDeletion(tenant, at),
      ].includes(true),
    async continueDeletion(tenant, limit) {
      if (!(await storeOf(tenant).continueDeletion(tenant, limit))) return false;
      if (!(await registry.continueDeletion(tenant, limit))) return false;
      // The account may have installed the App again during the deletion.
      const reinstalled = await registry.getTenant(tenant);
      if (reinstalled) await storeOf(tenant).putTenant({ id: tenant, at: reinstalled.created_at });
      return true;
    },
    // Not `tenant`: an empty list names no tenant.
    async queueRuns(runs) {
      const [run] = runs;
      return run ? storeOf(run.tenant).queueRuns(runs) : [];
    },
  };
};

/** The first argument is a tenant id, an object with the property `tenant`, or an array of such objects. */
function tenantOf([first]: unknown[]): string {
  if (typeof first === "string") return first;
  const owned = (Array.isArray(first) ? first[0] : first) as { tenant?: unknown } | undefined;
  if (typeof owned?.tenant !== "string") throw new Error("The arguments name no tenant.");
  return owned.tenant;
}

/** Every object has this RPC method, which runs a verb on its store. */
export interface StoreCalls {
  callStore(verb: string, args: unknown[], caller?: string): Promise<unknown>;
}

/**
 * Calls the verbs of a store in another object by RPC. `caller` is the name of a `WebhookMcpAgent` object. The
 * called store notifies that object of its commits.
 */
export const connectStore = (object: () => StoreCalls, caller?: string): Verbs =>
  new Proxy({} as Verbs, {
    get:
      (_, verb) =>
      async (...args: unknown[]): Promise<unknown> => {
        // Over RPC, a callback returns a promise, which the verbs do not await.
        if (args.some((arg) => typeof arg === "function"))
          throw new Error(`${String(verb)} runs only in the object of its tenant.`);
        try {
          return await object().callStore(String(verb), args, caller);
        } catch (error) {
          // An error of the verb itself has the property `remote`.
          if (isDataError(error) || (error as { remote?: boolean }).remote) throw error;
          throw new StorageUnavailable(
            `A Durable Object did not respond: ${(error as Error).message}`,
          );
        }
      },
  });
