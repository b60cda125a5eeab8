/** The page to open after the sign-in: the one that is open, or the one that has sent the browser here. */
export function returnPathAt({ pathname, search }: Pick<Location, "pathname" | "search">): string {
  if (pathname !== "/sign-in") return pathname + search;
  const given = new URLSearchParams(search).get("return_to") ?? "";
  // A path of this hub, in the eyes of a browser: it reads a backslash as a slash.
  return /^\/(?![/\\])/.test(given) && URL.parse(given, BASE)?.origin === BASE ? given : "/inbox";
}

const BASE = "http://hub.invalid";
