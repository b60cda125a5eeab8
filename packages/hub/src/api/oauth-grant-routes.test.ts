import { expect, it } from "vitest";
import { RequestError } from "../lib/request-error.ts";
import type { OAuthGrant } from "../store/oauth-store.ts";
import type { Token } from "../store/store.ts";
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

interface Listed {
  items: { id: string }[];
  next_cursor: string | null;
}

function setup(token: Partial<Token>) {
  const revoked: string[] = [];
  const [list, revoke] = oauthGrantRoutes({
    store: {
      listOAuthGrants: async ({ person, before, limit }) =>
        GRANTS.filter((one) => person === undefined || one.person === person)
          .filter(({ id }) => before === undefined || id < before)
          .slice(0, limit),
      getOAuthGrant: async (id) => GRANTS.find((one) => one.id === id),
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
    async listed(query: { limit: number; cursor?: string } = { limit: 20 }) {
      const result = await list?.handle({ ...request, query } as never);
      const { items, next_cursor } = (result as { json: Listed }).json;
      expect(JSON.stringify(items)).not.toContain("secret");
      return { ids: items.map(({ id }) => id), next_cursor };
    },
    revoke: (id: string) => revoke?.handle({ ...request, param: () => id } as never),
  };
}

it.each<[string, Partial<Token>, string[]]>([
  ["the operator", {}, GRANTS.map(({ id }) => id)],
  ["an admin of one tenant", { tenants: ["acme"] }, ["of-acme", "of-Ada"]],
  ["a token without admin", { scopes: ["inbox:read"] }, []],
  ["a person", { person: "github:1" }, ["of-Ada"]],
  ["an OAuth client of a person", { person: "github:1", kind: "oauth" }, []],
])("shows %s only their grants, which they can revoke", async (_, token, visible) => {
  const { listed, revoke, revoked } = setup(token);
  expect(await listed()).toEqual({ ids: visible, next_cursor: null });
  for (const { id } of GRANTS)
    if (visible.includes(id)) await revoke(id);
    else await expect(revoke(id)).rejects.toThrow(RequestError);
  expect(revoked).toEqual(visible);
});

it("lists grants in pages, whose cursors name visible grants only", async () => {
  const { listed } = setup({ tenants: ["acme"] });
  expect(await listed({ limit: 1 })).toEqual({ ids: ["of-acme"], next_cursor: "grant:of-acme" });
  const second = await listed({ limit: 1, cursor: "of-acme" });
  expect(second).toEqual({ ids: ["of-Ada"], next_cursor: "grant:of-Ada" });
  expect(await listed({ limit: 1, cursor: "of-Ada" })).toEqual({ ids: [], next_cursor: null });
});
