/**
 * What OAuth clients were granted. A person sees and revokes their own grants. An admin without a person,
 * such as the operator, sees those whose tenants the admin's token includes.
 */
import { z } from "zod";
import { RequestError } from "../lib/request-error.ts";
import type { OAuthGrant, OAuthStore } from "../store/oauth-store.ts";
import type { Scope } from "../store/store.ts";
import { type Access, allows } from "../tenants/authorizer.ts";
import type { TokenLookup } from "../tenants/local-token.ts";
import { EVERY_TENANT, scopes } from "../tenants/tokens.ts";
import { defineRoute, type Route } from "./route.ts";
import { iso, isoOrNull } from "./views.ts";

const tag = "tokens";
const at = z.iso.datetime();

export const oauthGrantView = z.object({
  id: z.string(),
  client_id: z.string(),
  client_name: z.string(),
  person: z.string().nullable().describe("Null: the operator."),
  scopes: z.array(z.enum(scopes as [Scope, ...Scope[]])),
  tenants: z.array(z.string()),
  resource: z.string().describe("The MCP server for which it is valid, or the whole hub."),
  created_at: at,
  last_used_at: at.nullable(),
  expires_at: at.describe("Each use of the client extends it."),
});

const viewGrant = (grant: OAuthGrant): z.input<typeof oauthGrantView> => ({
  id: grant.id,
  client_id: grant.client_id,
  client_name: grant.client_name,
  person: grant.person,
  scopes: grant.scopes,
  tenants: grant.tenants,
  resource: grant.resource,
  created_at: iso(grant.created_at),
  last_used_at: isoOrNull(grant.last_used_at),
  expires_at: iso(grant.expires_at),
});

export interface OAuthGrantRoutes {
  store: Pick<OAuthStore, "listOAuthGrants" | "revokeOAuthGrant">;
  tokens: Pick<TokenLookup, "getToken">;
  now: () => number;
}

export function oauthGrantRoutes({ store, tokens, now }: OAuthGrantRoutes): Route[] {
  const visibleTo = async (access: Access): Promise<OAuthGrant[]> => {
    const token = await tokens.getToken(access.token);
    // An OAuth client must not manage the other clients of its person.
    if (!token || token.kind === "oauth") return [];
    const { person, tenants } = token;
    const isVisible = (grant: OAuthGrant) =>
      person === null
        ? allows(token, "admin") &&
          (tenants.includes(EVERY_TENANT) || grant.tenants.every((one) => tenants.includes(one)))
        : grant.person === person;
    return (await store.listOAuthGrants(now())).filter(isVisible);
  };

  return [
    defineRoute({
      method: "get",
      path: "/api/oauth/grants",
      summary: "List the OAuth clients that were granted access, newest first",
      tag,
      scope: "any",
      isShared: true,
      response: { status: 200, schema: z.object({ items: z.array(oauthGrantView) }) },
      handle: async ({ access }) => ({ json: { items: (await visibleTo(access)).map(viewGrant) } }),
    }),
    defineRoute({
      method: "delete",
      path: "/api/oauth/grants/:grant",
      summary: "Revoke a grant with all its tokens",
      tag,
      scope: "any",
      isShared: true,
      response: { status: 204 },
      async handle({ access, param }) {
        const id = param("grant");
        const isKnown = (await visibleTo(access)).some((grant) => grant.id === id);
        if (!isKnown || !(await store.revokeOAuthGrant(id, now())))
          throw new RequestError("not_found", "grant", "There is no grant with this id.");
        return { status: 204 };
      },
    }),
  ];
}
