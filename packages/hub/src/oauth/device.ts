/** Device codes (RFC 8628): the client shows a short code, which a person enters on another device. */
import { sha256Hex } from "../kernel/lib/hmac.ts";
import { randomSecret } from "../kernel/lib/random-secret.ts";
import type { Store } from "../store.ts";
import { DEVICE_MS } from "./decide.ts";
import type { Form } from "./form.ts";
import type { OAuthClient } from "./model.ts";
import { OAuthError } from "./oauth-error.ts";
import { readRequestedResource, readRequestedScopes } from "./requested.ts";

export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const POLL_S = 5;
/** Without vowels and digits, so that a code is no word, and has no characters that look alike. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** Normalizes the code that a person has typed to its stored format. */
export function readUserCode(typed: string): string {
  const letters = typed
    .toUpperCase()
    .replaceAll(/[^A-Z]/g, "")
    .slice(0, CODE_LENGTH);
  return `${letters.slice(0, CODE_LENGTH / 2)}-${letters.slice(CODE_LENGTH / 2)}`;
}

function newUserCode(): string {
  let code = "";
  while (code.length < CODE_LENGTH) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    // Larger bytes are skipped, because they would make some letters more likely.
    if (byte < 256 - (256 % LETTERS.length)) code += LETTERS[byte % LETTERS.length];
  }
  return readUserCode(code);
}

export interface DeviceOptions {
  store: Pick<Store, "createOAuthGrant">;
  newId: () => string;
  now: () => number;
  hub: string;
}

export async function startDevice(
  client: OAuthClient,
  form: Form,
  { store, newId, now, hub }: DeviceOptions,
) {
  if (!client.grant_types.includes(DEVICE_GRANT))
    throw new OAuthError(
      "unauthorized_client",
      `The client has not registered this grant type. Register it with "grant_types": ["${DEVICE_GRANT}"].`,
    );
  const device_code = randomSecret("sbd_");
  const user_code = newUserCode();
  const created = await store.createOAuthGrant({
    id: newId(),
    client_id: client.id,
    client_name: client.name,
    status: "pending",
    code_hash: await sha256Hex(device_code),
    user_code,
    redirect_uri: null,
    challenge: null,
    resource: readRequestedResource(form.resource, hub),
    scopes: readRequestedScopes(form.scope),
    tenants: [],
    person: null,
    parent: null,
    salt: randomSecret(""),
    created_at: now(),
    expires_at: now() + DEVICE_MS,
  });
  if (!created)
    throw new OAuthError("invalid_request", "The generated code is already in use. Try again.");
  const verification_uri = `${hub}/oauth/device`;
  return {
    device_code,
    user_code,
    verification_uri,
    verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
    expires_in: DEVICE_MS / 1000,
    interval: POLL_S,
  };
}
