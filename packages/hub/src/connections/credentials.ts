/**
 * The credentials of a connection: headers, a bearer token or an OAuth client for servers by URL, and
 * the environment of commands. They are stored sealed, as one JSON document, and never returned.
 */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import type { Seal } from "../lib/seal.ts";
import { ConnectionError } from "./connection-error.ts";
import { string, text } from "./text-field.ts";

/** Set by the hub or by HTTP itself. */
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

/** The message for an invalid name is that of the rule it violates. */
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

const auth = z.discriminatedUnion(
  "type",
  [
    z.strictObject({ type: z.literal("bearer"), token: headerValue }),
    z.strictObject({
      type: z.literal("oauth"),
      client_id: text(1_000),
      client_secret: text(8_000),
      token_url: httpUrl
        .optional()
        .describe("The token endpoint; by default discovered from the metadata of the server"),
      scope: text(2_000).optional(),
      audience: text(2_000).optional(),
    }),
  ],
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
export type OAuthClient = Extract<NonNullable<Credentials["auth"]>, { type: "oauth" }>;

/** The columns `sealed` and `credentials` of a connection. */
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

/** What may be shown: the kind of the credentials, and names without values. */
function describeCredentials({ headers = {}, auth, env = {} }: Credentials): JsonObject {
  const shown: JsonObject = {};
  if (Object.keys(headers).length > 0) shown.headers = Object.keys(headers).sort();
  if (auth?.type === "bearer") shown.auth = { type: "bearer" };
  if (auth?.type === "oauth") {
    const { client_secret: _, ...rest } = auth;
    shown.auth = rest as JsonObject;
  }
  if (Object.keys(env).length > 0) shown.env = Object.keys(env).sort();
  return shown;
}
