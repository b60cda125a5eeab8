/** PKCE (RFC 7636), with S256 only. */
import { toBase64Url, utf8 } from "../../lib/bytes.ts";

export const isChallenge = (text: string): boolean => /^[\w-]{43}$/.test(text);

/** Returns the challenge of a verifier; undefined if the verifier is malformed. */
export async function challengeOf(verifier: string): Promise<string | undefined> {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return undefined;
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(verifier))));
}
