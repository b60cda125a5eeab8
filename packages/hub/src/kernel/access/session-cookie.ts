/** The cookie of a session. It is `SameSite=Strict`: browsers send it only with requests of the hub's own site. */
import { type Cookie, createCookie } from "../http/cookie.ts";

export function createSessionCookie(publicUrl: string | undefined): Cookie {
  const cookie = createCookie({ name: "signalbox_session", sameSite: "Strict" }, publicUrl);
  return {
    ...cookie,
    read(headers) {
      const value = cookie.read(headers);
      return value !== undefined && /^[\w-]{1,200}$/.test(value) ? value : undefined;
    },
  };
}
