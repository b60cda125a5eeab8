import { statSync } from "node:fs";
import { loadSettings } from "../node/load-settings.ts";
import { isSqlite, openStore, reserveDatabase, sqliteFile } from "../node/open-store.ts";
import { assertNoMoreArguments, type Command, print, UsageError } from "./command.ts";
import { green } from "./style.ts";
import { assertDatabaseExists } from "./with-store.ts";

export const compact: Command = {
  name: "compact",
  usage: "[--json] [options]",
  summary: "shrink the SQLite file of a stopped hub to its data",
  details:
    "A running hub shrinks its file itself, in small steps. Only a large file of an earlier version needs this command, once. The disk needs free space of twice the size of the data. If the command is interrupted, the file is unchanged.",
  options: { json: { type: "boolean", help: "print JSON" } },
  settings: ["data", "databaseUrl"],
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals);
    const settings = loadSettings(flags);
    if (settings.url !== undefined)
      throw new UsageError(
        "`compact` changes the database of a hub: run it on the machine of the hub, without --url and SIGNALBOX_URL.",
      );
    if (!isSqlite(settings))
      throw new UsageError(
        "`compact` is for SQLite. PostgreSQL reuses free space by itself (autovacuum); VACUUM FULL shrinks its files.",
      );
    // `reserveDatabase` would create the folder.
    assertDatabaseExists(settings);
    const release = await reserveDatabase(settings);
    try {
      const file = sqliteFile(settings);
      const before = statSync(file).size;
      await (await openStore(settings, { vacuum: "always" })).close();
      const after = statSync(file).size;
      print(
        flags.json
          ? JSON.stringify({ file, bytes_before: before, bytes: after }, null, 2)
          : `${green("✓")} ${file}: ${megabytes(before)} before, ${megabytes(after)} now`,
      );
    } finally {
      release();
    }
  },
};

const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
