/** The token that the bridge sends to the hub: a fixed one, or one that the user signs in for. */
import { rejectedToken } from "./hub-error.ts";

export interface Access {
  /** Undefined if there is none. Throws a `HubError` if it cannot be refreshed now. */
  token(): Promise<string | undefined>;
  /** After 401 for `token`: whether there is another one to try. */
  renew(token: string | undefined): Promise<boolean>;
  /** What the user must do if the hub rejects the token, for errors. */
  advice(): string;
  /** Whether the user is about to sign in, so that it is worth to try again soon. */
  isPending(): boolean;
}

export const fixedAccess = (url: string, token: string): Access => ({
  token: async () => token,
  renew: async () => false,
  advice: () => rejectedToken(url),
  isPending: () => false,
});

/** Sends a request with the token, and once more with another one if the hub rejects it. */
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
