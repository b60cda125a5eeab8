/** Access tokens, and the OAuth clients that were granted access. */
import { z } from "zod";
import { cursorFor, limitQuery, pageOf, time } from "./paging.ts";
import { route } from "./route.ts";
import { DEFAULT_SCOPES, MAX_TENANTS, SCOPES } from "./scopes.ts";

/** The longest lifetime of a token, in days. */
export const MAX_DAYS = 36_500;

const tag = "tokens";

export const tokenCursors = cursorFor("token");

const scope = "admin";

const scopeSchema = z.enum(SCOPES, `must be one of ${SCOPES.join(", ")}`);

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

export type Token = z.output<typeof tokenView>;

export const createdToken = tokenView.extend({ token: z.string() });

export type CreatedToken = z.output<typeof createdToken>;

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

export const grantCursors = cursorFor("grant");

export const oauthGrantView = z.object({
  id: z.string(),
  client_id: z.string(),
  client_name: z.string(),
  person: z
    .string()
    .nullable()
    .describe("The person who has granted the access; null for the operator."),
  scopes: z.array(z.enum(SCOPES)),
  tenants: z.array(z.string()),
  resource: z.string().describe("The MCP server for which the grant is valid, or the whole hub."),
  created_at: time,
  last_used_at: time.nullable(),
  expires_at: time.describe("Each use by the client extends it."),
});

export type OAuthGrant = z.output<typeof oauthGrantView>;

export const tokenApi = {
  list: route({
    method: "get",
    path: "/api/tokens",
    summary:
      "List the tokens with access to this tenant, newest first; with ?tenant=*, of all tenants",
    tag,
    scope,
    everyTenant: true,
    query: z.strictObject({
      limit: limitQuery,
      cursor: tokenCursors.query,
      kind: z
        .enum(["token", "session"], "must be token or session")
        .default("token")
        .describe("`session`: the browsers that are signed in, which can be revoked like tokens."),
    }),
    response: { status: 200, schema: pageOf(tokenView) },
  }),
  create: route({
    method: "post",
    path: "/api/tokens",
    summary: "Create a token; only this response contains its secret",
    tag,
    scope,
    everyTenant: true,
    body: newToken,
    response: { status: 201, schema: createdToken },
  }),
  revoke: route({
    method: "delete",
    path: "/api/tokens/:token",
    summary: "Revoke a token",
    tag,
    scope,
    everyTenant: true,
    response: { status: 204 },
  }),
};

export const oauthGrantApi = {
  list: route({
    method: "get",
    path: "/api/oauth/grants",
    summary: "List the OAuth clients that were granted access, newest first",
    tag,
    scope: "any",
    isShared: true,
    query: z.strictObject({ limit: limitQuery, cursor: grantCursors.query }),
    response: { status: 200, schema: pageOf(oauthGrantView) },
  }),
  revoke: route({
    method: "delete",
    path: "/api/oauth/grants/:grant",
    summary: "Revoke a grant with all its tokens",
    tag,
    scope: "any",
    isShared: true,
    response: { status: 204 },
  }),
};
