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
  created_at: z.iso.datetime().nullable().describe("Null if nothing is stored of it yet."),
});

type Listed = Pick<Tenant, "id"> & Partial<Tenant>;

const viewTenant = ({ id, name = null, pending = 0, created_at }: Listed) =>
  ({
    id,
    name,
    pending,
    created_at: created_at === undefined ? null : iso(created_at),
  }) satisfies z.input<typeof tenantView>;

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
      const tenants: Listed[] = granted.includes(EVERY_TENANT)
        ? await store.listTenants(cursor, limit)
        : await Promise.all(
            granted
              .filter((id) => id > cursor)
              .toSorted()
              .slice(0, limit)
              .map(async (id) => (await store.getTenant(id)) ?? { id }),
          );
      return { json: page(tenants, limit, ({ id }) => cursors.of(id), viewTenant) };
    },
  }),
];
