/** Looks up tokens with the current roles of their persons. */
import { EVERY_TENANT, type GrantedToken, type TokenLookup } from "../kernel/access/scopes.ts";
import type { People } from "./people.ts";

/**
 * `people` is undefined if the hub has no sign-in with GitHub: a token with a person then allows
 * nothing.
 */
export function withPeople(
  tokens: TokenLookup,
  people: Pick<People, "find"> | undefined,
): TokenLookup {
  const grant = async (
    token: GrantedToken | undefined,
    options: { wait: boolean },
  ): Promise<GrantedToken | undefined> => {
    if (!token || token.person === null) return token;
    // A revoked token gets no tenants, so that `*` of a person is never taken for `*` of the operator.
    if (token.revoked_at !== null) return { ...token, tenants: [], roles: new Map() };
    const person = (await people?.find(token.person, options)) ?? "ended";
    if (person === "unconfirmed") return { ...token, tenants: [], roles: person };
    // `*` of a person means all tenants of the person.
    const isIncluded = (tenant: string) =>
      token.tenants.includes(EVERY_TENANT) || token.tenants.includes(tenant);
    const roles = new Map(
      (person === "ended" ? [] : person.memberships).flatMap(({ tenant, role }) =>
        isIncluded(tenant) ? [[tenant, role]] : [],
      ),
    );
    return { ...token, tenants: [...roles.keys()], roles };
  };
  return {
    findToken: async (hash) => grant(await tokens.findToken(hash), { wait: true }),
    getToken: async (id, options = { wait: true }) => grant(await tokens.getToken(id), options),
  };
}
