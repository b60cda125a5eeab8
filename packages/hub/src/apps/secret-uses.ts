/** Finds the published flows that use a secret. */
import { secretsIn } from "@signalbox/rules/flows/check-secrets.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { Store } from "../store/store.ts";

export type FindSecretUses = (
  tenant: string,
  secret: string,
) => Promise<{ flow: string; nodes: string[] }[]>;

const PAGE = 100;

/** Reads every flow of the tenant, so it is not for frequent use. */
export const createFindSecretUses =
  (store: Pick<Store, "listFlows" | "getVersion">, registry: NodeRegistry): FindSecretUses =>
  async (tenant, secret) => {
    const uses: { flow: string; nodes: string[] }[] = [];
    let after: string | undefined;
    for (;;) {
      const { flows, hasMore } = await store.listFlows(tenant, { limit: PAGE, after });
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
