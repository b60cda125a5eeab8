/** The size of the database, as its engine reports it. */
import { storageApi } from "@signalbox/contract/stats.ts";
import { assertForAllTenants } from "../kernel/access/authorizer.ts";
import type { TokenLookup } from "../kernel/access/scopes.ts";
import { implement, type Route } from "../kernel/http/route.ts";
import type { Store } from "../store.ts";

export const storageRoutes = (
  store: Pick<Store, "backend" | "measureSize" | "sumBytes" | "file">,
  tokens: TokenLookup,
): Route[] => [
  implement(storageApi.get, async ({ access }) => {
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
  }),
];
