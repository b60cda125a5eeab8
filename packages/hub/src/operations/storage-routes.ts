/** The size of the database, as its engine reports it. */
import { z } from "zod";
import { assertForAllTenants } from "../kernel/access/for-all-tenants.ts";
import type { TokenLookup } from "../kernel/access/granted-scopes.ts";
import { defineRoute, type Route } from "../kernel/http/route.ts";
import type { Store } from "../store.ts";

const size = z.int().min(0);
export const storageView = z.object({
  engine: z.enum(["sqlite", "postgres", "durable-object"]),
  bytes: size.describe(
    "What the database takes on disk: on SQLite its file and the WAL; on PostgreSQL its files without the WAL, which all databases of the server share.",
  ),
  used_bytes: size.describe(
    "The size of the data and its indexes; on PostgreSQL with the free space in its files.",
  ),
  events_bytes: size.describe("The part of `used_bytes` that events take, as an estimate."),
  runs_bytes: size.describe(
    "The part of `used_bytes` that ended runs and their steps take, as an estimate.",
  ),
  free_bytes: size
    .nullable()
    .describe("The size of the pages without data, which new data uses first. Null: not reported."),
  wal_bytes: size
    .nullable()
    .describe("The part of `bytes` that SQLite's WAL takes. Null: there is none."),
  can_shrink: z
    .boolean()
    .describe(
      "False if an earlier version created the SQLite file: then only the command `compact` shrinks it.",
    ),
});

export const storageRoutes = (
  store: Pick<Store, "backend" | "measureSize" | "sumBytes" | "file">,
  tokens: TokenLookup,
): Route[] => [
  defineRoute({
    method: "get",
    path: "/api/storage",
    summary: "Get the size of the database; needs a token for all tenants",
    tag: "stats",
    scope: "admin",
    isShared: true,
    response: { status: 200, schema: storageView },
    async handle({ access }) {
      await assertForAllTenants(tokens, access);
      const [{ disk, used, free, wal }, { events, runs }] = await Promise.all([
        store.measureSize(),
        store.sumBytes(),
      ]);
      return {
        json: {
          engine: store.backend,
          bytes: disk,
          used_bytes: used,
          events_bytes: events,
          runs_bytes: runs,
          free_bytes: free,
          wal_bytes: wal,
          can_shrink: store.file?.canShrink ?? true,
        },
      };
    },
  }),
];
