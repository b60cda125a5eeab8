import { existsSync } from "node:fs";
import type { Store } from "../../store/store.ts";
import { isSqlite, openStore, sqliteFile } from "../node/open-store.ts";
import type { Settings } from "../settings.ts";
import { Failure } from "./command.ts";

/** Opens the store for a piece of work. What only looks, or changes what is there, makes no new one. */
export async function withStore(
  settings: Settings,
  { create }: { create: boolean },
  work: (store: Store) => Promise<void>,
): Promise<void> {
  if (!create && isSqlite(settings) && !existsSync(sqliteFile(settings)))
    throw new Failure(
      `There is no database at ${sqliteFile(settings)}. Run this in the hub's folder, name its data with --data, or start a hub with \`signalbox serve\`.`,
    );
  const store = await openStore(settings);
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
