/** All routes of the API, and the types of the JSON that they accept and return. */
import { appApi, toolNameApi } from "./apps.ts";
import { authorizationApi, connectionApi } from "./connections.ts";
import { eventApi, eventListApi } from "./events.ts";
import { flowImportApi } from "./flow-import.ts";
import { flowApi } from "./flows.ts";
import { inboxApi, liveApi } from "./inbox.ts";
import { metaApi } from "./meta.ts";
import { nodeTypeApi } from "./node-types.ts";
import { queueApi } from "./queue.ts";
import { redeliveryApi } from "./redelivery.ts";
import { runApi, runValueApi } from "./runs.ts";
import { secretApi } from "./secrets.ts";
import { hubInfoApi, sessionApi, signInApi } from "./session.ts";
import { settingApi } from "./settings.ts";
import { sampleApi, sourceApi, sourceKindApi, testEventApi } from "./sources.ts";
import { statsApi, storageApi } from "./stats.ts";
import { tenantApi } from "./tenants.ts";
import { oauthGrantApi, tokenApi } from "./tokens.ts";
import { triggerApi } from "./triggers.ts";
import { webhookApi } from "./webhooks.ts";

export type * from "./apps.ts";
export type { Page } from "./client.ts";
export type * from "./connections.ts";
export type * from "./events.ts";
export type * from "./flow-import.ts";
export type * from "./flows.ts";
export type { StreamedEvent } from "./live.ts";
export type * from "./node-types.ts";
export type * from "./queue.ts";
export type * from "./redelivery.ts";
export type * from "./runs.ts";
export type * from "./secrets.ts";
export type * from "./session.ts";
export type * from "./settings.ts";
export type * from "./sources.ts";
export type * from "./stats.ts";
export type * from "./tenants.ts";
export type * from "./tokens.ts";
export type * from "./triggers.ts";

/** In the order of the OpenAPI document. */
const groups = {
  inboxApi,
  liveApi,
  webhookApi,
  metaApi,
  signInApi,
  appApi,
  toolNameApi,
  flowApi,
  flowImportApi,
  secretApi,
  connectionApi,
  authorizationApi,
  nodeTypeApi,
  tokenApi,
  tenantApi,
  sourceApi,
  runApi,
  runValueApi,
  eventListApi,
  eventApi,
  triggerApi,
  sampleApi,
  testEventApi,
  sourceKindApi,
  redeliveryApi,
  settingApi,
  queueApi,
  statsApi,
  storageApi,
  sessionApi,
  oauthGrantApi,
  hubInfoApi,
};

type ValueOf<Fields> = Fields[keyof Fields];
type RouteOf<Group> = Group extends object ? ValueOf<Group> : never;

/** Any route of the API: `createClient<Routes>`. */
export type Routes = RouteOf<ValueOf<typeof groups>>;

export const routes: readonly Routes[] = Object.values(groups).flatMap((group): Routes[] =>
  Object.values(group),
);
