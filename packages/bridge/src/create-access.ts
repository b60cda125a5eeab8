import { type Access, fixedAccess } from "./access.ts";
import type { BridgeSettings } from "./bridge-settings.ts";
import { createSignIn } from "./sign-in.ts";
import { createSignedInAccess } from "./signed-in-access.ts";
import { createTokenFile } from "./token-file.ts";

export interface CreateAccessOptions {
  fetch?: typeof fetch;
  warn: (message: string) => void;
  signal: AbortSignal;
}

/** Uses SIGNALBOX_TOKEN if set, otherwise OAuth tokens from a sign-in. */
export function createAccess(
  { url, token, stateFolder, hasBrowser }: BridgeSettings,
  { fetch = globalThis.fetch, warn, signal }: CreateAccessOptions,
): Access {
  if (token !== undefined) return fixedAccess(url, token);
  return createSignedInAccess({
    url,
    file: createTokenFile(stateFolder, url),
    fetch,
    beginSignIn: createSignIn({ url, fetch, hasBrowser, signal }),
    warn,
  });
}
