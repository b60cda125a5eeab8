/**
 * The cookie of a session: only the hub can read it, and browsers send it with requests of its own
 * pages only. They send it to all ports of a host, so its name contains the port: several hubs on one
 * machine have separate sessions.
 */
const NAME = "signalbox_session";

/** A `Request`'s headers, or as many as a host has before it upgrades a connection. */
interface HeaderReader {
  get(name: string): string | null;
}

function nameFor(headers: HeaderReader): string {
  const port = /:(\d{1,5})$/.exec(headers.get("host") ?? "")?.[1];
  return port === undefined ? NAME : `${NAME}_${port}`;
}

/** The secret of the session; undefined if the request has none. */
export function sessionCookie(headers: HeaderReader): string | undefined {
  const wanted = nameFor(headers);
  for (const pair of headers.get("cookie")?.split(";") ?? []) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === wanted && value !== undefined && /^[\w-]{1,200}$/.test(value)) return value;
  }
  return undefined;
}

/** The value of `Set-Cookie` in the response to a request with these headers. */
export function setSession(headers: HeaderReader, secret: string, maxAgeMs: number): string {
  const isHttps = headers.get("origin")?.startsWith("https:") ?? false;
  const secure = isHttps ? "; Secure" : "";
  return `${nameFor(headers)}=${secret}; Max-Age=${Math.floor(maxAgeMs / 1000)}; Path=/; HttpOnly; SameSite=Strict${secure}`;
}

export const clearSession = (headers: HeaderReader): string => setSession(headers, "", 0);
