import { RequestError } from "../lib/request-error.ts";
import type { Access } from "../tenants/authorizer.ts";
import type { TokenLookup } from "../tenants/local-token.ts";
import { EVERY_TENANT } from "../tenants/tokens.ts";

/** Data of the whole hub is for operators: tokens of single tenants do not see it. */
export async function assertForAll(tokens: TokenLookup, { token }: Access): Promise<void> {
  if (!(await tokens.getToken(token))?.tenants.includes(EVERY_TENANT))
    throw new RequestError("forbidden", "token", "must be valid for all tenants (*)");
}
