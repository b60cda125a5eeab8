import { RequestError } from "../lib/request-error.ts";
import type { Access } from "./authorizer.ts";
import type { TokenLookup } from "./granted-scopes.ts";
import { EVERY_TENANT } from "./scopes.ts";

/** Throws unless the token is valid for all tenants: only operators may see data of the whole hub. */
export async function assertForAllTenants(tokens: TokenLookup, { token }: Access): Promise<void> {
  if (!(await tokens.getToken(token))?.tenants.includes(EVERY_TENANT))
    throw new RequestError("forbidden", "token", "must be valid for all tenants (*)");
}
