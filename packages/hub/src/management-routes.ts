/** The routes that need only a store. Commands also use them, directly on the database while no hub runs. */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { createFlows } from "../apps/flows.ts";
import { createAppImports } from "../apps/import-app.ts";
import { createFindSecretUses } from "../apps/secret-uses.ts";
import type { Authorizations } from "../connections/authorizations.ts";
import {
  type ConnectionEditorOptions,
  createConnectionEditor,
} from "../connections/connection-editor.ts";
import type { Connections } from "../connections/connections.ts";
import type { RevokeRemoved } from "../connections/revoke-removed.ts";
import type { Seal } from "../lib/seal.ts";
import type { Store } from "../store/store.ts";
import type { TokenLookup } from "../tenants/local-token.ts";
import { createSources } from "../tenants/sources.ts";
import { appRoutes } from "./app-routes.ts";
import { authorizationRoutes } from "./authorization-routes.ts";
import { connectionRoutes, createViewDetails } from "./connection-routes.ts";
import { flowRoutes } from "./flow-routes.ts";
import { importRoutes } from "./import-routes.ts";
import { nodeTypeRoutes } from "./node-type-routes.ts";
import type { Route } from "./route.ts";
import { secretRoutes } from "./secret-routes.ts";
import { sourceRoutes } from "./source-routes.ts";
import { type TenantDefaults, type TenantRoutes, tenantRoutes } from "./tenant-routes.ts";
import { type TokenRoutes, tokenRoutes } from "./token-routes.ts";
import { toolNameRoutes } from "./tool-name-routes.ts";

export interface ManagementOptions {
  store: Store;
  tokens: TokenLookup;
  registry: NodeRegistry;
  evaluate: Evaluate;
  seal: Seal;
  newId: () => string;
  now: () => number;
  tenancy: TokenRoutes["tenancy"];
  publicUrl: string | undefined;
  tenantDefaults: TenantDefaults;
  deletions: TenantRoutes["deletions"];
  connections: Omit<ConnectionEditorOptions, "store" | "seal"> & {
    /** Calls tools. Undefined if no hub runs. */
    calls: Pick<Connections, "callTool"> | undefined;
    /** Undefined if no hub runs. */
    authorizations: Authorizations | undefined;
    /** Undefined if no hub runs: the tokens of deleted connections are then not revoked. */
    revokeRemoved: RevokeRemoved | undefined;
  };
}

export function managementRoutes(options: ManagementOptions): Route[] {
  const { store, tokens, registry, evaluate, seal, newId, now, tenancy, publicUrl } = options;
  const { calls, authorizations, revokeRemoved, ...checks } = options.connections;
  const connections = createConnectionEditor({ store, seal, ...checks });
  const flows = createFlows({ store, registry, evaluate, newId, now });
  return [
    ...appRoutes(store, now),
    ...toolNameRoutes(store, now),
    ...flowRoutes({ flows, store }),
    ...importRoutes(createAppImports({ store, registry, flows, tenancy, newId, now })),
    ...secretRoutes({ store, seal, findUses: createFindSecretUses(store, registry), now }),
    ...connectionRoutes({
      store,
      editor: connections,
      connections: calls,
      revokeRemoved,
      now,
    }),
    ...authorizationRoutes({
      editor: connections,
      authorizations,
      publicUrl,
      viewDetails: createViewDetails(store),
    }),
    ...nodeTypeRoutes(registry),
    ...tokenRoutes({ store, tokens, tenancy, newId, now }),
    ...tenantRoutes({
      store,
      tokens,
      tenancy,
      defaults: options.tenantDefaults,
      deletions: options.deletions,
      now,
    }),
    ...sourceRoutes({ store, sources: createSources({ store, seal, newId, now }), publicUrl }),
  ];
}
