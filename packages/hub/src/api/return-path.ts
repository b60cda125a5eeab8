/** A base that no request has: a path that leaves it would lead to another site. */
const BASE = "http://hub.invalid";

/** The page to open after the sign-in, as a path of this hub. Anything else becomes the start page. */
export function returnPath(given: string | null | undefined): string {
  // Browsers read a backslash as a slash, and ignore tabs and line breaks.
  if (!given?.startsWith("/") || given.length > MAX_LENGTH) return "/";
  const url = URL.parse(given, BASE);
  if (url?.origin !== BASE || SIGN_IN.test(url.pathname)) return "/";
  const path = url.pathname + url.search;
  // "/.//example.com" becomes "//example.com".
  return path.startsWith("//") ? "/" : path;
}

const MAX_LENGTH = 4_000;
/** Pages that would start another sign-in. */
const SIGN_IN = /^\/(sign-in|auth)(\/|$)/;
