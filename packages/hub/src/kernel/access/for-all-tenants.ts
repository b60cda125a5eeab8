import type { TokenLookup } from "../../tokens/local-token.ts";
import { EVERY_TENANT } from "../../tokens/tokens.ts";
import { RequestError } from "../lib/request-error.ts";
import type { Access } from "./authorizer.ts";

/** Throws unless the token is valid for all tenants: only operators may see data of the whole hub. */
export async function assertForAllTenants(tokens: TokenLookup, { token }: Access): Promise<void> {
  if (!(await tokens.getToken(token))?.tenants.includes(EVERY_TENANT))
    throw new RequestError("forbidden", "token", "must be valid for all tenants (*)");
}
