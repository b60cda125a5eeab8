/** The headers of HTML pages, and the escaping of their texts. */

export const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

export const createNonce = (): string =>
  btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18))));

export const pageHeaders = (nonce: string, policy = policyWith([])): Record<string, string> => ({
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-store",
  "content-security-policy": `${policy}; style-src 'self' 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  ...NO_SNIFF,
});

/** `imageOrigins`: the origins from which pages may load images, besides the hub itself. */
export const policyWith = (imageOrigins: readonly string[]) =>
  `default-src 'none'; script-src 'self'; worker-src 'self'; connect-src 'self'; img-src ${["'self'", "data:", ...imageOrigins].join(" ")}; font-src 'self'; manifest-src 'self'`;

export const STATIC_POLICY = "default-src 'none'";

export const NO_SNIFF = { "x-content-type-options": "nosniff" };

/** A page that the web UI does not serve. */
export interface OtherPage {
  path: string;
  /** Changes the address to which the page is redirected. `origin`: that of the request. */
  onRedirect?(page: URL, origin: string): void;
}
