/** Routes of access tokens. A caller may list and revoke the tokens whose tenants its own token includes. */
import { unknownTenantError } from "@signalbox/contract/scopes.ts";
import { tokenApi, tokenCursors } from "@signalbox/contract/tokens.ts";
import {
  allows,
  EVERY_TENANT,
  scopesIn,
  type Token,
  type TokenLookup,
} from "../kernel/access/scopes.ts";
import { iso, isoOrNull, page, visiblePage } from "../kernel/http/paging.ts";
import { implement, type Route, type RouteRequest } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { TokenQuery } from "./model.ts";
import { createToken } from "./tokens.ts";

const DAY_MS = 24 * 3_600_000;

const viewToken = ({ hash, kind, parent, person, resource, ...token }: Token) => ({
  ...token,
  created_at: iso(token.created_at),
  expires_at: isoOrNull(token.expires_at),
  revoked_at: isoOrNull(token.revoked_at),
  last_used_at: isoOrNull(token.last_used_at),
});

/** Returns the newest tokens of several lists, without duplicates. */
const newestOf = (tokens: readonly Token[], limit: number): Token[] =>
  [...new Map(tokens.map((token) => [token.id, token])).values()]
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit);

export interface TokenRoutes {
  store: Pick<Store, "getToken" | "listTokens" | "putToken" | "revokeToken">;
  /** Looks up the token of the caller. */
  tokens: Pick<TokenLookup, "getToken">;
  tenancy: "single" | "github";
  newId: () => string;
  now: () => number;
}

export function tokenRoutes({ store, tokens, tenancy, newId, now }: TokenRoutes): Route[] {
  /** Returns a function that checks whether the caller is an admin of all these tenants. */
  const createIsAdminOfAll = async ({ access }: Pick<RouteRequest, "access">) => {
    const caller = await tokens.getToken(access.token);
    const isAdmin = (tenant: string) =>
      caller !== undefined && allows({ scopes: scopesIn(caller, tenant) }, "admin");
    return (tenants: readonly string[]) => tenants.every(isAdmin);
  };
  /** An OAuth client must not create tokens, because they would outlive its grant, nor revoke tokens. */
  const assertNoOAuthClient = async ({ access }: Pick<RouteRequest, "access">) => {
    if ((await tokens.getToken(access.token))?.kind === "oauth")
      throw new RequestError(
        "forbidden",
        "token",
        "belongs to an OAuth client, which cannot manage tokens",
      );
  };
  /** Whether the token or session belongs to the person who calls, whatever its tenants. */
  const isOwn = ({ access }: Pick<RouteRequest, "access">, token: Token) =>
    token.person !== null && token.person === access.person;

  return [
    implement(tokenApi.list, async ({ access, tenant, query: { kind, limit, cursor } }) => {
      const isAdminOfAll = await createIsAdminOfAll({ access });
      const { person } = access;
      const isOperator = isAdminOfAll([EVERY_TENANT]);
      const read = async (query: TokenQuery): Promise<Token[]> => {
        if (tenant === EVERY_TENANT) return store.listTokens(query);
        const ofTenant = await store.listTokens({ ...query, tenant });
        // Of the tokens for all tenants, an operator sees all, and a person only their own.
        if (!isOperator && person === undefined) return ofTenant;
        const ofAll = {
          ...query,
          tenant: EVERY_TENANT,
          person: isOperator ? undefined : person,
        };
        return newestOf([...ofTenant, ...(await store.listTokens(ofAll))], query.limit);
      };
      const listed = await visiblePage(
        { limit, before: cursor },
        (list) => read({ ...list, kind }),
        (token) => isAdminOfAll(token.tenants) || isOwn({ access }, token),
      );
      return { json: page(listed, limit, ({ id }) => tokenCursors.of(id), viewToken) };
    }),
    implement(tokenApi.create, async ({ access, tenant, body }) => {
      await assertNoOAuthClient({ access });
      const tenants = body.tenants ?? [tenant];
      if (!(await createIsAdminOfAll({ access }))(tenants))
        throw new RequestError(
          "forbidden",
          "tenants",
          "must be among the tenants of your own token",
        );
      const unknown = tenancy === "single" ? unknownTenantError(tenants) : undefined;
      if (unknown) throw new RequestError("invalid", "tenants", unknown);
      const at = now();
      const created = {
        id: newId(),
        name: body.name,
        scopes: body.scopes,
        tenants,
        person: access.person ?? null,
        expiresAt: body.days === undefined ? null : at + Math.ceil(body.days * DAY_MS),
      };
      const token = await createToken(store, { ...created, now: at });
      const stored = await store.getToken(created.id);
      if (!stored) throw new Error("The created token is missing.");
      return { json: { ...viewToken(stored), token } };
    }),
    implement(tokenApi.revoke, async ({ access, param }) => {
      await assertNoOAuthClient({ access });
      const token = await store.getToken(param("token"));
      const isAllowed =
        token &&
        (isOwn({ access }, token) || (await createIsAdminOfAll({ access }))(token.tenants));
      if (!isAllowed || !(await store.revokeToken(token.id, now())))
        throw new RequestError("not_found", "token", `There is no active token ${param("token")}.`);
    }),
  ];
}
