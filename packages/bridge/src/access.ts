/** The token that the bridge sends to the hub: from the settings, or from a sign-in of the user. */
import { rejectedToken } from "./hub-error.ts";

export interface Access {
  /** Returns undefined if there is no token. Throws a `HubError` if the token cannot be refreshed now. */
  token(): Promise<string | undefined>;
  /** Called after the hub rejected `token` with 401. Returns whether another token can be tried. */
  renew(token: string | undefined): Promise<boolean>;
  /** Returns a sentence for error messages: what the user must do if the hub rejects the token. */
  advice(): string;
  /** Whether the bridge waits for the user to sign in. If so, requests are retried sooner. */
  isPending(): boolean;
}

export const fixedAccess = (url: string, token: string): Access => ({
  token: async () => token,
  renew: async () => false,
  advice: () => rejectedToken(url),
  isPending: () => false,
});

/** Sends a request with the token. If the hub rejects the token, tries once more with a new token. */
export async function sendWithAccess(
  access: Access,
  send: (authorization: Record<string, string>) => Promise<Response>,
): Promise<Response> {
  const attempt = async () => {
    const token = await access.token();
    const response = await send(token === undefined ? {} : { authorization: `Bearer ${token}` });
    return { response, token };
  };
  const first = await attempt();
  if (first.response.status !== 401 || !(await access.renew(first.token))) return first.response;
  await first.response.body?.cancel().catch(() => {});
  return (await attempt()).response;
}
