/**
 * The credentials of a connection: headers, a bearer token or OAuth for servers by URL, and the
 * environment of commands. They are stored sealed, as one JSON document, and never returned. Tokens that
 * a person grants are stored separately; see grant.ts.
 */
import {
  credentialFields,
  grantTypeOf,
  type OAuth,
} from "@signalbox/contract/connection-fields.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { z } from "zod";
import type { Seal } from "../kernel/lib/seal.ts";
import { ConnectionError } from "./connection-error.ts";

const schema = z.object(credentialFields);
export type Credentials = z.infer<typeof schema>;
/** The hub acts for itself, with the grant `client_credentials`. */
export type OAuthClient = OAuth & { client_id: string; client_secret: string };
/** The hub acts for a person, with the grant `authorization_code`. */
export type OAuthSignIn = OAuth;

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
