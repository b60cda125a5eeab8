/** Routes of access tokens. A caller may list and revoke the tokens whose tenants its own token includes. */
import { z } from "zod";
import type { TokenLookup } from "../kernel/access/granted-scopes.ts";
import { allows, scopesIn } from "../kernel/access/granted-scopes.ts";
import type { Scope } from "../kernel/access/scopes.ts";
import { DEFAULT_SCOPES, EVERY_TENANT, MAX_TENANTS, scopes } from "../kernel/access/scopes.ts";
import type { Token } from "../kernel/access/token.ts";
import { cursorFor, iso, isoOrNull, limitQuery, page, pageOf } from "../kernel/http/paging.ts";
import { defineRoute, type Route, type RouteRequest } from "../kernel/http/route.ts";
import { visiblePage } from "../kernel/http/visible-page.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { TokenQuery } from "./model.ts";
import { createToken, MAX_DAYS, unknownTenantError } from "./tokens.ts";

const tag = "tokens";
const cursors = cursorFor("token");
const scope = "admin" as const;
const DAY_MS = 24 * 3_600_000;

const scopeSchema = z.enum(scopes as [Scope, ...Scope[]], `must be one of ${scopes.join(", ")}`);
const time = z.iso.datetime();
export const tokenView = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(scopeSchema),
  tenants: z.array(z.string()),
  created_at: time,
  expires_at: time.nullable(),
  revoked_at: time.nullable(),
  last_used_at: time.nullable().describe("With a precision of one minute."),
});

export const createdToken = tokenView.extend({ token: z.string() });

const viewToken = ({ hash, kind, parent, person, resource, ...token }: Token) => ({
  ...token,
  created_at: iso(token.created_at),
  expires_at: isoOrNull(token.expires_at),
  revoked_at: isoOrNull(token.revoked_at),
  last_used_at: isoOrNull(token.last_used_at),
});

const newToken = z.strictObject({
  name: z.string().trim().min(1, "must not be empty").max(200),
  scopes: z
    .array(scopeSchema)
    .min(1, "must not be empty")
    .default([...DEFAULT_SCOPES]),
  tenants: z.array(z.string().min(1).max(200)).min(1).max(MAX_TENANTS).optional(),
  days: z
    .number()
    .positive("must be above 0")
    .max(MAX_DAYS, `must be at most ${MAX_DAYS}`)
    .optional()
    .describe("The lifetime in days. If omitted, the token does not expire."),
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
    defineRoute({
      method: "get",
      path: "/api/tokens",
      summary:
        "List the tokens with access to this tenant, newest first; with ?tenant=*, of all tenants",
      tag,
      scope,
      everyTenant: true,
      query: z.strictObject({
        limit: limitQuery,
        cursor: cursors.query,
        kind: z
          .enum(["token", "session"], "must be token or session")
          .default("token")
          .describe(
            "`session`: the browsers that are signed in, which can be revoked like tokens.",
          ),
      }),
      response: { status: 200, schema: pageOf(tokenView) },
      async handle({ access, tenant, query: { kind, limit, cursor } }) {
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
        return { json: page(listed, limit, ({ id }) => cursors.of(id), viewToken) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/tokens",
      summary: "Create a token; only this response contains its secret",
      tag,
      scope,
      everyTenant: true,
      body: newToken,
      response: { status: 201, schema: createdToken },
      async handle({ access, tenant, body }) {
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
        return {
          status: 201,
          json: { ...viewToken(stored), token },
        };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/tokens/:token",
      summary: "Revoke a token",
      tag,
      scope,
      everyTenant: true,
      response: { status: 204 },
      async handle({ access, param }) {
        await assertNoOAuthClient({ access });
        const token = await store.getToken(param("token"));
        const isAllowed =
          token &&
          (isOwn({ access }, token) || (await createIsAdminOfAll({ access }))(token.tenants));
        if (!isAllowed || !(await store.revokeToken(token.id, now())))
          throw new RequestError(
            "not_found",
            "token",
            `There is no active token ${param("token")}.`,
          );
        return { status: 204 };
      },
    }),
  ];
}
