/** Applies a person's decision about a client. */
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { randomSecret } from "../kernel/lib/random-secret.ts";
import type { Store } from "../store.ts";
import type { Consent } from "./consent.ts";
import type { NewOAuthGrant, OAuthGrant } from "./model.ts";
import { OAuthError } from "./oauth-error.ts";

const CODE_MS = 60_000;
export const DEVICE_MS = 10 * 60_000;

/** The access that the client gets. */
export type GrantedAccess = Pick<OAuthGrant, "scopes" | "tenants" | "person" | "parent">;

export interface DecideOptions {
  store: Pick<Store, "createOAuthGrant" | "decideOAuthGrant">;
  now: () => number;
  /** The issuer, which the response names (RFC 9207). */
  hub: string;
}

/** Returns the hash by which the grant of a client that polls with its `state` is found. */
export const pollHash = (clientId: string, state: string): Promise<string> =>
  sha256Hex(JSON.stringify(["poll", clientId, state]));

/** Returns the URL to which the browser is redirected; undefined if the client polls for its tokens. */
export async function decide(
  consent: Consent,
  granted: GrantedAccess | undefined,
  { store, now, hub }: DecideOptions,
): Promise<string | undefined> {
  const status = granted ? "approved" : "denied";
  const { id, flow, redirect_uri, state } = consent;
  if (flow === "device") {
    const decision = granted
      ? { status: "approved" as const, ...granted }
      : { status: "denied" as const };
    if (!(await store.decideOAuthGrant(id, decision, now()))) throw alreadyDecided();
    return undefined;
  }
  const newGrant = (code_hash: string, ms: number): NewOAuthGrant => ({
    ...(granted ?? { scopes: [], tenants: [], person: null, parent: null }),
    id,
    client_id: consent.client_id,
    client_name: consent.client_name,
    status,
    code_hash,
    user_code: null,
    redirect_uri,
    challenge: consent.challenge,
    resource: consent.resource,
    salt: randomSecret(""),
    created_at: now(),
    expires_at: now() + ms,
  });
  if (flow === "poll") {
    const hash = await pollHash(consent.client_id, state ?? "");
    if (!(await store.createOAuthGrant(newGrant(hash, DEVICE_MS)))) throw alreadyDecided();
    return undefined;
  }
  if (!granted) return redirectTo(consent, hub, { error: "access_denied" });
  const code = randomSecret("sbc_");
  if (!(await store.createOAuthGrant(newGrant(await sha256Hex(code), CODE_MS))))
    throw alreadyDecided();
  return redirectTo(consent, hub, { code });
}

const alreadyDecided = () =>
  new OAuthError(
    "invalid_request",
    "This request was already decided, or has expired. Start again in the client.",
  );

/** Returns the URL of the authorization response, with the issuer (RFC 9207). */
export function redirectTo(
  { redirect_uri, state }: { redirect_uri: string | null; state?: string | null | undefined },
  hub: string,
  params: Record<string, string>,
): string {
  const url = new URL(redirect_uri ?? hub);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  if (state !== null && state !== undefined) url.searchParams.set("state", state);
  url.searchParams.set("iss", hub);
  return url.href;
}
