import { expect, it } from "vitest";
import type { Token } from "../kernel/access/scopes.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { OAuthGrant } from "./model.ts";
import { oauthGrantRoutes } from "./oauth-grant-routes.ts";

const grant = (id: string, person: string | null, tenants: string[]): OAuthGrant => ({
  id,
  client_id: "c",
  client_name: "Editor",
  status: "active",
  redirect_uri: null,
  challenge: null,
  resource: "https://hub.example/mcp",
  scopes: ["inbox:read"],
  tenants,
  person,
  parent: null,
  salt: "secret",
  created_at: 0,
  expires_at: 1,
  last_used_at: null,
});

const GRANTS = [
  grant("of-the-operator", null, ["*"]),
  grant("of-acme", null, ["acme"]),
  grant("of-Bob", "github:2", ["acme", "umbrella"]),
  grant("of-Ada", "github:1", ["acme"]),
];

interface GrantPage {
  items: { id: string }[];
  next_cursor: string | null;
}

function setup(token: Partial<Token>) {
  const revoked: string[] = [];
  const [listRoute, revokeRoute] = oauthGrantRoutes({
    store: {
      listOAuthGrants: async ({ person, before, limit }) =>
        GRANTS.filter((grant) => person === undefined || grant.person === person)
          .filter(({ id }) => before === undefined || id < before)
          .slice(0, limit),
      getOAuthGrant: async (id) => GRANTS.find((grant) => grant.id === id),
      revokeOAuthGrant: async (id) => revoked.push(id) > 0,
    },
    tokens: {
      getToken: async () =>
        ({ kind: "session", person: null, scopes: ["admin"], tenants: ["*"], ...token }) as Token,
    },
    now: () => 0,
  });
  const request = { access: { token: "t" } };
  return {
    revoked,
    async list(query: { limit: number; cursor?: string } = { limit: 20 }) {
      const result = await listRoute?.handle({ ...request, query } as never);
      const { items, next_cursor } = (result as { json: GrantPage }).json;
      expect(JSON.stringify(items)).not.toContain("secret");
      return { ids: items.map(({ id }) => id), next_cursor };
    },
    revoke: (id: string) => revokeRoute?.handle({ ...request, param: () => id } as never),
  };
}

it.each<[string, Partial<Token>, string[]]>([
  ["the operator", {}, GRANTS.map(({ id }) => id)],
  ["an admin of one tenant", { tenants: ["acme"] }, ["of-acme", "of-Ada"]],
  ["a token without admin", { scopes: ["inbox:read"] }, []],
  ["a person", { person: "github:1" }, ["of-Ada"]],
  ["an OAuth client of a person", { person: "github:1", kind: "oauth" }, []],
])(
  "lets %s list and revoke only the grants that are visible to them",
  async (_, token, visible) => {
    const { list, revoke, revoked } = setup(token);
    expect(await list()).toEqual({ ids: visible, next_cursor: null });
    for (const { id } of GRANTS)
      if (visible.includes(id)) await revoke(id);
      else await expect(revoke(id)).rejects.toThrow(RequestError);
    expect(revoked).toEqual(visible);
  },
);

it("lists grants in pages, whose cursors contain only ids of visible grants", async () => {
  const { list } = setup({ tenants: ["acme"] });
  expect(await list({ limit: 1 })).toEqual({ ids: ["of-acme"], next_cursor: "grant:of-acme" });
  const second = await list({ limit: 1, cursor: "of-acme" });
  expect(second).toEqual({ ids: ["of-Ada"], next_cursor: "grant:of-Ada" });
  expect(await list({ limit: 1, cursor: "of-Ada" })).toEqual({ ids: [], next_cursor: null });
});
