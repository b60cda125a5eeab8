/** A base URL to parse paths. If a path resolves to another origin, it would lead to another site. */
const BASE = "http://hub.invalid";

/** Returns `requested` if it is the path of a page of this hub, to open after the sign-in; otherwise the start page. */
export function returnPath(requested: string | null | undefined): string {
  if (!requested?.startsWith("/") || requested.length > MAX_LENGTH) return "/";
  // `URL` parses like browsers, which read a backslash as a slash, and ignore tabs and line breaks.
  const url = URL.parse(requested, BASE);
  if (url?.origin !== BASE || SIGN_IN.test(url.pathname)) return "/";
  const path = url.pathname + url.search;
  // "/.//example.com" becomes "//example.com".
  return path.startsWith("//") ? "/" : path;
}

const MAX_LENGTH = 4_000;
/** Pages that would start another sign-in. */
const SIGN_IN = /^\/(sign-in|auth)(\/|$)/;
