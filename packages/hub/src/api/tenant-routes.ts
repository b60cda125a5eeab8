/** The tenants that a token or session can access, for a client that lets people choose one. */
import { z } from "zod";
import type { Store, Tenant } from "../store/store.ts";
import type { TokenLookup } from "../tenants/local-token.ts";
import { EVERY_TENANT } from "../tenants/tokens.ts";
import { defineRoute, type Route } from "./route.ts";
import { cursorFor, iso, limitQuery, page, pageOf } from "./views.ts";

const cursors = cursorFor("tenant");

export const tenantView = z.object({
  id: z.string(),
  name: z.string().nullable(),
  pending: z.int().describe("The number of pending events."),
  created_at: z.iso.datetime(),
});

const viewTenant = ({ id, name, pending, created_at }: Tenant): z.input<typeof tenantView> => ({
  id,
  name,
  pending,
  created_at: iso(created_at),
});

export const tenantRoutes = (
  store: Pick<Store, "getTenant" | "listTenants">,
  tokens: TokenLookup,
): Route[] => [
  defineRoute({
    method: "get",
    path: "/api/tenants",
    summary: "List the tenants that the token or session can access",
    tag: "session",
    scope: "inbox:read",
    isShared: true,
    query: z.strictObject({ limit: limitQuery, cursor: cursors.query }),
    response: { status: 200, schema: pageOf(tenantView) },
    async handle({ access, query: { limit, cursor = "" } }) {
      const granted = (await tokens.getToken(access.token))?.tenants ?? [];
      const found = granted.includes(EVERY_TENANT)
        ? await store.listTenants(cursor, limit)
        : await Promise.all(
            granted
              .filter((id) => id > cursor)
              .toSorted()
              .slice(0, limit)
              .map(store.getTenant),
          );
      const tenants = found.filter((tenant) => tenant !== undefined);
      return { json: page(tenants, limit, ({ id }) => cursors.of(id), viewTenant) };
    },
  }),
];
