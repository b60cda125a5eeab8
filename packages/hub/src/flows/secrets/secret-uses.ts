/** Finds the published flows that use a secret. */
import { secretsIn } from "@signalbox/rules/flows/check-secrets.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { Store } from "../../store.ts";

export type FindSecretUses = (
  tenant: string,
  secret: string,
) => Promise<{ flow: string; nodes: string[] }[]>;

const PAGE_SIZE = 100;

/** The function is slow, because it reads every published flow of the tenant. */
export const createFindSecretUses =
  (store: Pick<Store, "listFlows" | "getVersion">, registry: NodeRegistry): FindSecretUses =>
  async (tenant, secret) => {
    const uses: { flow: string; nodes: string[] }[] = [];
    let after: string | undefined;
    for (;;) {
      const { flows, hasMore } = await store.listFlows(tenant, { limit: PAGE_SIZE, after });
      for (const { id, name, version } of flows) {
        const graph = version === null ? undefined : await store.getVersion(tenant, id, version);
        const nodes = (graph?.nodes ?? [])
          .filter((node) => secretsIn({ nodes: [node] }, registry).has(secret))
          .map((node) => node.name);
        if (nodes.length > 0) uses.push({ flow: name, nodes });
      }
      after = flows.at(-1)?.id;
      if (!hasMore) return uses;
    }
  };
