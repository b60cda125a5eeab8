/**
 * The grants of OAuth clients. A person can list and revoke their own grants. An admin without a person,
 * such as the operator, can list and revoke the grants whose tenants the admin's token includes.
 */
import { grantCursors, oauthGrantApi, type oauthGrantView } from "@signalbox/contract/tokens.ts";
import type { z } from "zod";
import type { Access } from "../kernel/access/authorizer.ts";
import { allows, EVERY_TENANT, type TokenLookup } from "../kernel/access/scopes.ts";
import { iso, isoOrNull, page, visiblePage } from "../kernel/http/paging.ts";
import { implement, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { OAuthGrant } from "./model.ts";

const viewGrant = (grant: OAuthGrant): z.output<typeof oauthGrantView> => ({
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
    implement(oauthGrantApi.list, async ({ access, query: { limit, cursor } }) => {
      const visibility = await visibilityTo(access);
      if (!visibility) return { json: { items: [], next_cursor: null } };
      const { person, isVisible } = visibility;
      const grants = await visiblePage(
        { limit, before: cursor },
        (list) => store.listOAuthGrants({ ...list, person, now: now() }),
        isVisible,
      );
      return { json: page(grants, limit, ({ id }) => grantCursors.of(id), viewGrant) };
    }),
    implement(oauthGrantApi.revoke, async ({ access, param }) => {
      const id = param("grant");
      const grant = await store.getOAuthGrant(id);
      const isVisible = grant && (await visibilityTo(access))?.isVisible(grant);
      if (!isVisible || !(await store.revokeOAuthGrant(id, now())))
        throw new RequestError("not_found", "grant", "There is no grant with this id.");
    }),
  ];
}
