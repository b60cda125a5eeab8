/** Sessions: sign-in to the web UI by a link with a one-time code, and sign-out; the hub's addresses. */
import { z } from "zod";
import { time } from "./paging.ts";
import { route } from "./route.ts";
import { SCOPES } from "./scopes.ts";
export const hubInfoView = z.object({
  version: z.string(),
  url: z.string().describe("The address under which clients reach the hub."),
  webhook_url: z
    .string()
    .describe("The URL of webhooks, to which the name of the source is added."),
  mcp_url: z.string().describe("The MCP server of the inbox; an app's server is below it."),
  storage: z.enum(["sqlite", "postgres", "durable-object"]),
  tenancy: z.enum(["single", "github"]),
  is_public: z.boolean().describe("Whether other machines can reach the hub."),
  accepts_unsigned: z
    .boolean()
    .describe("Whether webhooks of sources without a secret are accepted."),
  allows_commands: z
    .boolean()
    .describe("Whether connections may run MCP servers as commands on the hub's machine."),
  install_url: z
    .string()
    .nullable()
    .describe("Where the owner of a GitHub account installs the App; null if it is unknown."),
  started_at: time,
});

export type HubInfo = z.output<typeof hubInfoView>;

export const signInMethodsView = z.object({
  github: z.boolean().describe("Whether people can sign in with GitHub, at `/auth/github`."),
});

export type SignInMethods = z.output<typeof signInMethodsView>;

const tag = "session";

export const sessionView = z.object({
  id: z.string().describe("The id of the session, or of the token."),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  tenant: z.string().nullable().describe("The tenant, if there is exactly one."),
  tenants: z
    .array(z.string())
    .describe("The tenants of the session. Empty: all tenants, so requests must name one."),
  person: z
    .object({
      login: z.string(),
      name: z.string().nullable(),
      avatar_url: z.string().nullable(),
      roles: z
        .record(z.string(), z.enum(["member", "admin"]))
        .describe("The role in each tenant. `admin` may do everything in it."),
    })
    .nullable()
    .describe("The person who has signed in with GitHub; null for the operator."),
  expires_at: time.nullable(),
  hub: hubInfoView,
});

export type Session = z.output<typeof sessionView>;

const linkView = z.object({
  url: z.string().describe("A link that opens the web UI, and signs a browser in once."),
  expires_at: time,
});

export const signInBody = z.strictObject(
  { code: z.string("must be the code of a sign-in link").min(1).max(200) },
  'must be an object such as { "code": "…" }',
);

export const hubInfoApi = {
  get: route({
    method: "get",
    path: "/api/hub",
    summary: "The hub's version, addresses and capabilities",
    tag: "meta",
    scope: "any",
    isShared: true,
    response: { status: 200, schema: hubInfoView },
  }),
};

/** Routes that a browser calls without a session. */
export const signInApi = {
  signIn: route({
    method: "post",
    path: "/api/session",
    summary: "Sign in with the code of a link; the response sets the session cookie",
    tag,
    scope: undefined,
    body: signInBody,
    response: { status: 204, headers: { "set-cookie": "The session." } },
  }),
  methods: route({
    method: "get",
    path: "/api/session/methods",
    summary: "How people can sign in, besides the link that the hub prints",
    tag,
    scope: undefined,
    response: { status: 200, schema: signInMethodsView },
  }),
};

export const sessionApi = {
  get: route({
    method: "get",
    path: "/api/session",
    summary: "Get the scopes and tenants of the session or the token, and the hub's addresses",
    tag,
    scope: "any",
    isShared: true,
    response: { status: 200, schema: sessionView },
  }),
  signOut: route({
    method: "delete",
    path: "/api/session",
    summary: "Sign out: end the session",
    tag,
    scope: "any",
    isShared: true,
    response: { status: 204 },
  }),
  createLink: route({
    method: "post",
    path: "/api/session/links",
    summary:
      "Create a link that signs a browser in once. The session has the scopes and tenants of the caller's token, and ends with the token",
    tag,
    scope: "any",
    isShared: true,
    response: { status: 201, schema: linkView },
  }),
};
