/** Returns the path to open after the sign-in: the open page or, on the sign-in page, `return_to`. */
export function returnPathAt({ pathname, search }: Pick<Location, "pathname" | "search">): string {
  if (pathname !== "/sign-in") return pathname + search;
  const returnTo = new URLSearchParams(search).get("return_to") ?? "";
  // Only paths of this hub are accepted. Browsers read a backslash as a slash.
  return /^\/(?![/\\])/.test(returnTo) && URL.parse(returnTo, BASE)?.origin === BASE
    ? returnTo
    : "/inbox";
}

const BASE = "http://hub.invalid";
