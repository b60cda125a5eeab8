/**
 * The store: the interface between the hub and its database. Every write is one transaction. When the
 * promise of a write resolves, the change survives a crash. The same contract suite (store.contract.ts) runs on
 * every backend.
 */
import * as connections from "./connections/store.ts";
import * as mcpEvents from "./events/mcp-events/store.ts";
import * as events from "./events/store.ts";
import * as flows from "./flows/store.ts";
import type { Engine } from "./kernel/store/engine.ts";
import * as health from "./kernel/store/health.ts";
import type { StoreOf } from "./kernel/store/verb.ts";
import * as oauth from "./oauth/store.ts";
import * as people from "./people/store.ts";
import * as redelivery from "./redelivery/store.ts";
import * as tenants from "./tenants/store.ts";
import * as tokens from "./tokens/store.ts";

/** The verbs of each capability are exports of its `store.ts`. */
export const storeDefinition = {
  ...health,
  ...tokens,
  ...oauth,
  ...tenants,
  ...mcpEvents,
  ...events,
  ...people,
  ...redelivery,
  ...connections,
  ...flows,
};

export type Verbs = StoreOf<typeof storeDefinition>;

export interface Store extends Verbs, Engine {}
