/** The cookie of a session: only the hub can read it, and browsers send it with requests of its own pages only. */
const NAME = "signalbox_session";

/** The secret of the session; undefined if the header has none. */
export function sessionCookie(header: string | null): string | undefined {
  for (const pair of header?.split(";") ?? []) {
    const [name, value] = pair.trim().split("=", 2);
    if (name === NAME && value !== undefined && /^[\w-]{1,200}$/.test(value)) return value;
  }
  return undefined;
}

const attributes = (isHttps: boolean) =>
  `Path=/; HttpOnly; SameSite=Strict${isHttps ? "; Secure" : ""}`;

export const setSession = (secret: string, maxAgeMs: number, isHttps: boolean): string =>
  `${NAME}=${secret}; Max-Age=${Math.floor(maxAgeMs / 1000)}; ${attributes(isHttps)}`;

export const clearSession = (isHttps: boolean): string =>
  `${NAME}=; Max-Age=0; ${attributes(isHttps)}`;
