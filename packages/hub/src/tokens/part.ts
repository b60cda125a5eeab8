/** Tokens and sessions: they decide who may do what. */

import {
  type AuthorizeRequest,
  createAuthorizeRequest,
} from "../kernel/access/authorize-request.ts";
import { type Authorizer, createAuthorizer } from "../kernel/access/authorizer.ts";
import { LOCAL_TENANT, type TokenLookup } from "../kernel/access/scopes.ts";
import { createStreamSlots, type StreamSlots } from "../kernel/access/stream-slots.ts";
import { createTenantChoice, type DescribeTenantChoice } from "../kernel/access/tenant-choice.ts";
import type { Notice } from "../kernel/store/sql.ts";
import type { Kernel, Part } from "../part.ts";
import { createLastUse } from "./last-use.ts";
import { withLocalToken } from "./local-token.ts";
import { addSignInRoute, type GetHubInfo, sessionRoutes, signInPath } from "./session-routes.ts";
import { tokenRoutes } from "./token-routes.ts";
import { createWebSessions, OPERATOR, type WebSessions } from "./web-sessions.ts";

export interface TokensPart extends Part {
  tokens: TokenLookup;
  sessions: WebSessions;
  authorizer: Authorizer;
  authorizeRequest: AuthorizeRequest;
  streamSlots: StreamSlots;
  describeTenantChoice: DescribeTenantChoice;
  /** Returns the path and fragment of a one-time link that signs the operator in to the web UI. */
  createSignInPath(): Promise<string>;
}

export async function createTokensPart(
  kernel: Kernel,
  people: { tokens: TokenLookup; avatarOrigins: readonly string[] },
  describeHub: GetHubInfo,
): Promise<TokensPart> {
  const { store, ports, settings, newId, checkHost, onError } = kernel;
  const { timers } = ports;
  const { now } = timers;
  const { tenancy, publicUrl, localToken } = settings;
  const tokens =
    localToken === undefined
      ? people.tokens
      : await withLocalToken(people.tokens, localToken, now());
  const describeTenantChoice = createTenantChoice(store);
  const authorizer = createAuthorizer({
    store: tokens,
    now,
    monotonic: timers.monotonic,
    // The tenants of a token for `*`. With many tenants, each request must name one.
    everyTenant: tenancy === "single" ? [LOCAL_TENANT] : undefined,
    describeTenantChoice,
    onUsed: createLastUse(store, timers, onError),
    onError,
  });
  const onNotice = (notice: Notice) => {
    if (notice.topic === "tenant_deleted") authorizer.endTenant(notice.tenant);
  };
  store.subscribe(onNotice, ["tenant_deleted"]);
  const sessions = createWebSessions({ store, tokens, newId, now });
  return {
    tokens,
    sessions,
    authorizer,
    authorizeRequest: createAuthorizeRequest({ authorizer, checkHost, publicUrl }),
    streamSlots: createStreamSlots({ authorizer, max: settings.maxStreams }),
    describeTenantChoice,
    createSignInPath: async () => signInPath(await sessions.createCode(OPERATOR)),
    routes: [
      ...tokenRoutes({ store, tokens, tenancy, newId, now }),
      ...sessionRoutes({
        sessions,
        store,
        tokens,
        hubInfo: describeHub,
        publicUrl,
        avatarOrigins: people.avatarOrigins,
        now,
      }),
    ],
    mount: (app) => addSignInRoute(app, { sessions, checkHost, publicUrl }),
  };
}
