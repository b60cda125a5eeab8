import { statSync } from "node:fs";
import { dirname } from "node:path";
import {
  assertNoMoreArguments,
  type Command,
  CommandFailed,
  green,
  print,
  UsageError,
} from "@signalbox/cli/src/index.ts";
import type { Settings } from "../../settings.ts";
import { loadSettings } from "../node/load-settings.ts";
import {
  freeBytes,
  isDiskFull,
  isSqlite,
  openStore,
  reserveDatabase,
  sqliteFile,
} from "../node/open-store.ts";
import { assertDatabaseExists } from "./with-store.ts";

export const compact: Command = {
  name: "compact",
  usage: "[--json] [options]",
  summary: "shrink the SQLite file of a stopped hub to its data",
  details:
    "A running hub shrinks its file itself, in small steps. Only a large file of an earlier version needs this command, once. The command needs free space of the size of the data in the folder of the file, and as much again in the folder of temporary files. If it is interrupted, the file is unchanged.",
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
    const release = await reserveDatabase(
      settings,
      "Stop it, run `npx signalbox compact` again, and start it.",
    );
    try {
      const file = sqliteFile(settings);
      const before = statSync(file).size;
      await vacuum(settings);
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

async function vacuum(settings: Settings): Promise<void> {
  const file = sqliteFile(settings);
  // More than needed, if the disk is so full that SQLite cannot even open the file.
  let needed = statSync(file).size;
  try {
    const store = await openStore(settings);
    needed = (await store.measureSize()).used;
    await store.close();
    await (await openStore(settings, { vacuum: "always" })).close();
  } catch (error) {
    if (!isDiskFull((error as Error).cause, file)) throw error;
    const [folder, free] = [dirname(file), freeBytes(file)];
    const disk = free < needed ? "the disk" : "the disk of temporary files";
    throw new CommandFailed(
      `${file} cannot be compacted, because ${disk} is full. The command needs ${megabytes(needed)} in ${folder}, where ${megabytes(free)} are free, and as much again in the folder of temporary files (SQLITE_TMPDIR, TMPDIR or /var/tmp). Free disk space, or set SQLITE_TMPDIR to a folder on another disk, and run \`npx signalbox compact\` again. The data is unchanged.`,
      { cause: error },
    );
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
