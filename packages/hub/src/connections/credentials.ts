/**
 * The credentials of a connection: headers, a bearer token or OAuth for servers by URL, and the
 * environment of commands. They are stored sealed, as one JSON document, and never returned. Tokens that
 * a person grants are stored separately; see grant.ts.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import type { Seal } from "../kernel/lib/seal.ts";
import { ConnectionError } from "./connection-error.ts";
import { string, text } from "./text-field.ts";

/** The headers that the hub or the HTTP client sets. */
const RESERVED_HEADERS = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "host",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
  "x-mesh-token",
]);

const headerValue = text(8_000).regex(
  /^[\t\x20-\x7e]+$/,
  "must consist of printable ASCII characters",
);
const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an http(s) URL" })
  .max(2_000, "must have at most 2000 characters");

/** For an invalid name, the message of the rule that it violates. Otherwise the value is no object. */
const recordError =
  (notAnObject: string): z.core.$ZodErrorMap =>
  (issue) =>
    issue.code === "invalid_key" ? issue.issues[0]?.message : notAnObject;

const headers = z.record(
  z
    .string()
    .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/, "must be the name of a header")
    .refine((name) => !RESERVED_HEADERS.has(name.toLowerCase()), "is set by the hub: remove it")
    .refine(
      (name) => name.toLowerCase() !== "authorization",
      "is set by the hub: for a token use auth",
    ),
  headerValue,
  { error: recordError("must be an object of header names and values") },
);

const oauth = z
  .strictObject({
    type: z.literal("oauth"),
    grant: z
      .enum(
        ["authorization_code", "client_credentials"],
        'must be "authorization_code" or "client_credentials"',
      )
      .optional()
      .describe(
        "`authorization_code`: a person authorizes the hub in the web UI. By default `client_credentials` if there is a client_secret, else `authorization_code`.",
      ),
    client_id: text(1_000)
      .optional()
      .describe("By default, the hub registers at the authorization server."),
    client_secret: text(8_000).optional(),
    token_url: httpUrl
      .optional()
      .describe("The token endpoint; by default discovered from the metadata of the server"),
    scope: text(2_000).optional(),
    audience: text(2_000).optional(),
  })
  .superRefine((fields, context) => {
    const addProblem = (path: keyof OAuth, message: string) =>
      context.addIssue({ code: "custom", path: [path], message });
    const isClientGrant = grantTypeOf(fields) === "client_credentials";
    for (const field of ["client_id", "client_secret"] as const)
      if (
        fields[field] === undefined &&
        (isClientGrant || (field === "client_id" && fields.client_secret))
      )
        addProblem(field, "is missing");
    for (const field of ["token_url", "audience"] as const)
      if (fields[field] !== undefined && !isClientGrant)
        addProblem(field, "is only possible with the grant client_credentials");
  });

const auth = z.discriminatedUnion(
  "type",
  [z.strictObject({ type: z.literal("bearer"), token: headerValue }), oauth],
  'must have the type "bearer" or "oauth"',
);

const env = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,200}$/, "must be the name of an environment variable"),
  string().max(32_000, "must have at most 32000 characters"),
  { error: recordError("must be an object of variable names and values") },
);

/** The fields of the credentials in the request that creates or changes a connection. */
export const credentialFields = {
  headers: headers.optional(),
  auth: auth.optional(),
  env: env.optional(),
};

const schema = z.object(credentialFields);
export type Credentials = z.infer<typeof schema>;
type OAuth = z.infer<typeof oauth>;
/** The hub acts for itself, with the grant `client_credentials`. */
export type OAuthClient = OAuth & { client_id: string; client_secret: string };
/** The hub acts for a person, with the grant `authorization_code`. */
export type OAuthSignIn = OAuth;

const grantTypeOf = ({ grant, client_secret }: Pick<OAuth, "grant" | "client_secret">) =>
  grant ?? (client_secret === undefined ? "authorization_code" : "client_credentials");

export const clientOf = ({ auth }: Credentials): OAuthClient | undefined =>
  auth?.type === "oauth" && grantTypeOf(auth) === "client_credentials"
    ? (auth as OAuthClient)
    : undefined;

export const signInOf = ({ auth }: Credentials): OAuthSignIn | undefined =>
  auth?.type === "oauth" && grantTypeOf(auth) === "authorization_code" ? auth : undefined;

/** Returns the columns `sealed` and `credentials` of a connection. */
export async function sealCredentials(
  credentials: Credentials,
  { seal }: Pick<Seal, "seal">,
): Promise<{ sealed: string | null; credentials: JsonObject }> {
  const shown = describeCredentials(credentials);
  const isEmpty = Object.keys(shown).length === 0;
  return { sealed: isEmpty ? null : await seal(JSON.stringify(credentials)), credentials: shown };
}

export async function unsealCredentials(
  sealed: string | null,
  { unseal }: Pick<Seal, "unseal">,
): Promise<Credentials> {
  if (sealed === null) return {};
  try {
    return schema.parse(JSON.parse(await unseal(sealed)));
  } catch (error) {
    throw new ConnectionError("unauthorized", (error as Error).message, { cause: error });
  }
}

/** Describes the credentials without secrets. Of headers and variables, only the names are shown. */
function describeCredentials({ headers = {}, auth, env = {} }: Credentials): JsonObject {
  const shown: JsonObject = {};
  if (Object.keys(headers).length > 0) shown.headers = Object.keys(headers).sort();
  if (auth?.type === "bearer") shown.auth = { type: "bearer" };
  if (auth?.type === "oauth") {
    const { client_secret: _, ...publicFields } = auth;
    shown.auth = {
      ...publicFields,
      ...(signInOf({ auth }) && { grant: "authorization_code" }),
    } as JsonObject;
  }
  if (Object.keys(env).length > 0) shown.env = Object.keys(env).sort();
  return shown;
}
