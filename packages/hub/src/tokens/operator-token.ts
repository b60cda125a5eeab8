/** The operator's tokens: admin tokens for all tenants. */

import { isActive } from "../kernel/access/authorizer.ts";
import { allows, EVERY_TENANT, type Token } from "../kernel/access/scopes.ts";
import type { Store } from "../store.ts";

/** The command that creates a token of the operator. */
export const CREATE_OPERATOR_TOKEN = `token create operator --scope admin --tenant '${EVERY_TENANT}'`;

const PAGE = 200;

export async function hasOperatorToken(
  store: Pick<Store, "listTokens">,
  now: number,
): Promise<boolean> {
  const isOperators = (token: Token) =>
    token.person === null && allows(token, "admin") && isActive(token, now);
  for (let before: string | undefined; ; ) {
    const tokens = await store.listTokens({ tenant: EVERY_TENANT, before, limit: PAGE });
    if (tokens.some(isOperators)) return true;
    if (tokens.length < PAGE) return false;
    before = tokens.at(-1)?.id;
  }
}
