/**
 * Redirect URIs of clients: `https`, `http` on this computer (RFC 8252), or a scheme of an app. They are
 * compared exactly, except that the port of a loopback address may differ.
 */
const MAX_LENGTH = 2_000;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
/** Schemes that a browser itself interprets. */
const BROWSER_SCHEMES =
  /^(about|blob|chrome|data|file|filesystem|ftp|intent|javascript|mailto|tel|vbscript|view-source|wss?):/i;

const isLoopbackRedirect = ({ protocol, hostname }: URL): boolean =>
  protocol === "http:" && LOOPBACK.has(hostname);

/** Returns why a client cannot have this redirect URI; undefined if it can. */
export function redirectUriError(uri: string): string | undefined {
  const url = URL.parse(uri);
  if (!url || uri.length > MAX_LENGTH) return `${JSON.stringify(uri.slice(0, 100))} is not a URI`;
  if (url.hash !== "" || uri.includes("#")) return "must have no fragment";
  if (url.username !== "" || url.password !== "") return "must have no user name";
  if (url.protocol === "http:" && !isLoopbackRedirect(url))
    return "must be https, or http on a loopback address";
  if (/\s/.test(uri)) return "must have no whitespace";
  return BROWSER_SCHEMES.test(url.protocol)
    ? `must not have the scheme ${url.protocol}`
    : undefined;
}

export function isRegisteredRedirect(registered: readonly string[], uri: string): boolean {
  const loopbackUri = withoutPort(uri);
  return registered.some(
    (registeredUri) =>
      registeredUri === uri ||
      (loopbackUri !== undefined && withoutPort(registeredUri) === loopbackUri),
  );
}

/** Returns a loopback URI without its port; undefined for any other URI. */
function withoutPort(uri: string): string | undefined {
  const match = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?([/?].*)?$/.exec(uri);
  return match ? `${match[1]}${match[2] ?? ""}` : undefined;
}

/** Describes the target of the redirect, for the person who decides. */
export function describeRedirect(uri: string): string {
  const url = new URL(uri);
  if (isLoopbackRedirect(url)) return `a program on this computer (${url.host})`;
  return url.protocol === "https:" ? url.host : `the app for ${url.protocol}// links`;
}
