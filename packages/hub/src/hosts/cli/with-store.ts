import { existsSync } from "node:fs";
import { CommandFailed, serveFlags, yellow } from "@signalbox/cli/src/index.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store.ts";
import { assertNotLost } from "../node/data-folder.ts";
import { isSqlite, openStore, sqliteFile } from "../node/open-store.ts";

/** Calls `work` with an open store. Throws if the SQLite database is missing and `create` is false. */
export async function withStore(
  settings: Settings,
  { create }: { create: boolean },
  work: (store: Store) => Promise<void>,
): Promise<void> {
  if (!create) assertDatabaseExists(settings);
  const isNew = isSqlite(settings) && !existsSync(sqliteFile(settings));
  const store = await openStore(settings);
  // On stderr, because stdout may be JSON.
  if (isNew)
    process.stderr.write(
      `${yellow("!")} No hub is running on this data folder, so the command has created the database ${sqliteFile(settings)}. For a hub with another database, set DATABASE_URL as for that hub.\n`,
    );
  try {
    await work(store);
  } finally {
    await store.close();
  }
}

/** Throws if the SQLite database is missing. */
export function assertDatabaseExists(settings: Settings): void {
  const file = sqliteFile(settings);
  if (!isSqlite(settings) || existsSync(file)) return;
  assertNotLost(settings.data, file);
  throw new CommandFailed(
    `No database at ${file}. Run the command in the hub's folder, give its data folder with --data, or start a hub with \`npx signalbox serve${serveFlags(settings)}\`.`,
  );
}
