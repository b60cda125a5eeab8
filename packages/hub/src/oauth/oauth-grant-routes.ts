/**
 * The grants of OAuth clients. A person can list and revoke their own grants. An admin without a person,
 * such as the operator, can list and revoke the grants whose tenants the admin's token includes.
 */
import { z } from "zod";
import { type Access, allows } from "../kernel/access/authorizer.ts";
import type { TokenLookup } from "../kernel/access/granted-scopes.ts";
import type { Scope } from "../kernel/access/scopes.ts";
import { EVERY_TENANT, scopes } from "../kernel/access/scopes.ts";
import { cursorFor, iso, isoOrNull, limitQuery, page, pageOf } from "../kernel/http/paging.ts";
import { defineRoute, type Route } from "../kernel/http/route.ts";
import { visiblePage } from "../kernel/http/visible-page.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { OAuthGrant } from "./model.ts";

const tag = "tokens";
const cursors = cursorFor("grant");
const time = z.iso.datetime();

export const oauthGrantView = z.object({
  id: z.string(),
  client_id: z.string(),
  client_name: z.string(),
  person: z
    .string()
    .nullable()
    .describe("The person who has granted the access; null for the operator."),
  scopes: z.array(z.enum(scopes as [Scope, ...Scope[]])),
  tenants: z.array(z.string()),
  resource: z.string().describe("The MCP server for which the grant is valid, or the whole hub."),
  created_at: time,
  last_used_at: time.nullable(),
  expires_at: time.describe("Each use by the client extends it."),
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

/** Defines which grants a caller may list and revoke. */
interface Visibility {
  /** Only grants of this person are visible. */
  person?: string;
  isVisible: (grant: OAuthGrant) => boolean;
}

export interface OAuthGrantRoutes {
  store: Pick<Store, "getOAuthGrant" | "listOAuthGrants" | "revokeOAuthGrant">;
  tokens: Pick<TokenLookup, "getToken">;
  now: () => number;
}

export function oauthGrantRoutes({ store, tokens, now }: OAuthGrantRoutes): Route[] {
  /** Returns undefined if the caller may list no grants. */
  const visibilityTo = async ({ token: id }: Access): Promise<Visibility | undefined> => {
    const token = await tokens.getToken(id);
    // An OAuth client must not manage the other clients of its person.
    if (!token || token.kind === "oauth") return undefined;
    const { person, tenants } = token;
    if (person !== null) return { person, isVisible: (grant) => grant.person === person };
    if (!allows(token, "admin")) return undefined;
    const isForAll = tenants.includes(EVERY_TENANT);
    return {
      isVisible: (grant) => isForAll || grant.tenants.every((tenant) => tenants.includes(tenant)),
    };
  };

  return [
    defineRoute({
      method: "get",
      path: "/api/oauth/grants",
      summary: "List the OAuth clients that were granted access, newest first",
      tag,
      scope: "any",
      isShared: true,
      query: z.strictObject({ limit: limitQuery, cursor: cursors.query }),
      response: { status: 200, schema: pageOf(oauthGrantView) },
      async handle({ access, query: { limit, cursor } }) {
        const visibility = await visibilityTo(access);
        if (!visibility) return { json: { items: [], next_cursor: null } };
        const { person, isVisible } = visibility;
        const grants = await visiblePage(
          { limit, before: cursor },
          (list) => store.listOAuthGrants({ ...list, person, now: now() }),
          isVisible,
        );
        return { json: page(grants, limit, ({ id }) => cursors.of(id), viewGrant) };
      },
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
        const grant = await store.getOAuthGrant(id);
        const isVisible = grant && (await visibilityTo(access))?.isVisible(grant);
        if (!isVisible || !(await store.revokeOAuthGrant(id, now())))
          throw new RequestError("not_found", "grant", "There is no grant with this id.");
        return { status: 204 };
      },
    }),
  ];
}
