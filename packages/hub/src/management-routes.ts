/** The routes that need only a store. Commands also use them, directly on the database while no hub runs. */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { authorizationRoutes } from "./connections/authorization-routes.ts";
import type { Authorizations } from "./connections/authorizations.ts";
import {
  type ConnectionEditorOptions,
  createConnectionEditor,
} from "./connections/connection-editor.ts";
import { connectionRoutes, createViewDetails } from "./connections/connection-routes.ts";
import type { Connections } from "./connections/connections.ts";
import type { RevokeRemoved } from "./connections/revoke-removed.ts";
import { createSources } from "./events/endpoints/endpoints.ts";
import { sourceRoutes } from "./events/endpoints/source-routes.ts";
import { appRoutes } from "./flows/editing/app-routes.ts";
import { flowRoutes } from "./flows/editing/flow-routes.ts";
import { createFlows } from "./flows/editing/flows.ts";
import { nodeTypeRoutes } from "./flows/editing/node-type-routes.ts";
import { toolNameRoutes } from "./flows/editing/tool-name-routes.ts";
import { createAppImports } from "./flows/import/import-app.ts";
import { importRoutes } from "./flows/import/import-routes.ts";
import { secretRoutes } from "./flows/secrets/secret-routes.ts";
import { createFindSecretUses } from "./flows/secrets/secret-uses.ts";
import type { TokenLookup } from "./kernel/access/granted-scopes.ts";
import type { Route } from "./kernel/http/route.ts";
import type { Seal } from "./kernel/lib/seal.ts";
import type { Store } from "./kernel/store/store.ts";
import { type TenantDefaults, type TenantRoutes, tenantRoutes } from "./tenants/tenant-routes.ts";
import { type TokenRoutes, tokenRoutes } from "./tokens/token-routes.ts";

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
