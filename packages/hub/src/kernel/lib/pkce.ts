/** PKCE (RFC 7636), with S256 only. */
import { toBase64Url, utf8 } from "./bytes.ts";

export const isChallenge = (text: string): boolean => /^[\w-]{43}$/.test(text);

export const isVerifier = (text: string): boolean => /^[\w.~-]{43,128}$/.test(text);

export async function challengeOf(verifier: string): Promise<string> {
  return toBase64Url(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(verifier))));
}
