import { existsSync, statfsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { tryReadHubFile } from "@signalbox/cli/src/hub-file.ts";
import { messageOf } from "../../kernel/backends/postgres-errors.ts";
import { SettingsError } from "../../kernel/settings.ts";
import {
  describeDamage,
  isStorageUnavailable,
  type OutageLog,
} from "../../kernel/store/availability.ts";
import { SchemaRefused } from "../../kernel/store/migrate.ts";
import type { Settings } from "../../settings.ts";
import { type Store, storeDefinition } from "../../store.ts";
import { withoutPassword } from "../without-password.ts";
import {
  assertNotLost,
  describeForeignOwner,
  describeLoss,
  isDatabaseMarked,
} from "./data-folder.ts";

type DatabaseSettings = Pick<Settings, "databaseUrl" | "data">;

/** Thrown if PostgreSQL is not running, is starting, or does not respond. It may become available later. */
export class DatabaseUnavailable extends Error {
  readonly code = "database_unavailable";
  constructor({ databaseUrl }: Pick<Settings, "databaseUrl">, cause: unknown) {
    super(
      `The database at ${withoutPassword(databaseUrl)} is unavailable: ${messageOf(cause)}. Check that PostgreSQL is running and writable, and DATABASE_URL.`,
      { cause },
    );
  }
}

interface OpenOptions {
  outages?: OutageLog;
  /** See `SqliteOptions`. */
  vacuum?: "always" | "former";
}

/** Opens the database of DATABASE_URL. Only the driver that is used is loaded. */
export async function openStore(
  settings: DatabaseSettings,
  { outages = { onFailure() {}, onSuccess() {}, onDisconnect() {} }, vacuum }: OpenOptions = {},
): Promise<Store> {
  if (isSqlite(settings)) {
    const { openSqlite } = await import("../../kernel/backends/sqlite.ts");
    return withFileErrors(settings, (file) => {
      assertNotLost(settings.data, file);
      const mayCreate = !isDatabaseMarked(settings.data, file);
      return openSqlite(storeDefinition, file, { outages, mayCreate, vacuum });
    });
  }
  const { openPostgres } = await import("../../kernel/backends/postgres.ts");
  try {
    return await openPostgres(storeDefinition, settings.databaseUrl, {
      outages,
      onError: outages.onDisconnect,
    });
  } catch (error) {
    if (isStorageUnavailable(error)) throw new DatabaseUnavailable(settings, error);
    if (error instanceof SchemaRefused)
      throw new SettingsError(
        `The database at ${withoutPassword(settings.databaseUrl)} cannot be opened. ${error.message}`,
        { cause: error },
      );
    const foreign = findForeign(error);
    if (foreign !== undefined)
      throw new SettingsError(
        `The database at ${withoutPassword(settings.databaseUrl)} belongs to another program: it has ${foreign} that the hub did not create. Its data is unchanged: choose another database with DATABASE_URL.`,
        { cause: error },
      );
    throw new SettingsError(
      `The database at ${withoutPassword(settings.databaseUrl)} cannot be opened: ${messageOf(error)}. Check DATABASE_URL, and that PostgreSQL is running.`,
      { cause: error },
    );
  }
}

const FIX_FOR_SECOND_HUB =
  "Stop it, or give the second hub its own data folder with SIGNALBOX_DATA. To run several hubs on the same data, use PostgreSQL (DATABASE_URL=postgres://…).";

/**
 * Reserves a SQLite database for this hub, before it is opened: a newer hub must not migrate the
 * database while an older one uses it. Returns a function that releases it. A PostgreSQL database is not
 * reserved, since replicas share it. `fix` is what the user can do if a hub uses the database.
 */
export async function reserveDatabase(
  settings: DatabaseSettings,
  fix = FIX_FOR_SECOND_HUB,
): Promise<() => void> {
  if (!isSqlite(settings)) return () => {};
  const { lockDatabase } = await import("../../kernel/backends/sqlite-file.ts");
  const file = sqliteFile(settings);
  const release = withFileErrors(settings, lockDatabase);
  if (release) return release;
  const holder = tryReadHubFile(settings.data);
  throw new SettingsError(
    `A hub${holder ? ` (process ${holder.pid}, ${holder.url})` : ""} is using ${file}. ${fix}`,
  );
}

/** Converts errors about the file to a `SettingsError` with the fix. */
function withFileErrors<Result>(
  settings: DatabaseSettings,
  work: (file: string) => Result,
): Result {
  const file = sqliteFile(settings);
  try {
    if (isFolder(file))
      throw new SettingsError(
        `${file} is a folder, but DATABASE_URL=sqlite:FILE must name a file.`,
      );
    return work(file);
  } catch (error) {
    const message =
      error instanceof SchemaRefused && error.code === "no_schema"
        ? describeLoss(settings.data, file)
        : sqliteMessage(file, error);
    throw message === undefined ? error : new SettingsError(message, { cause: error });
  }
}

export const isSqlite = ({ databaseUrl }: Pick<Settings, "databaseUrl">): boolean =>
  databaseUrl.startsWith("sqlite:");

/** The path of `sqlite:FILE` or `sqlite://FILE`. Without FILE, it is signalbox.db in the data folder. */
export function sqliteFile({ databaseUrl, data }: DatabaseSettings): string {
  const path = databaseUrl.slice("sqlite:".length).replace(/^\/\//, "");
  return resolve(path === "" ? join(data, "signalbox.db") : path);
}

const CHOOSE_ANOTHER = "choose another location with SIGNALBOX_DATA or DATABASE_URL=sqlite:FILE.";

/** The message of an error, with the fix; undefined if the error is not about the file. */
function sqliteMessage(file: string, error: unknown): string | undefined {
  if (error instanceof SchemaRefused) return `${file} cannot be opened. ${error.message}`;
  const code = (error as { code?: unknown }).code;
  if (typeof code !== "string" || !/^(SQLITE_|E[A-Z]+$)/.test(code)) return undefined;
  if (isDiskFull(error, file))
    return `${file} cannot be opened or written, because its disk is full. Free at least 1 MiB, and try again.`;
  const parentFile = findParentFile(file);
  if (parentFile !== undefined)
    return `${parentFile} is not a folder, so it cannot contain the database. Move it, or ${CHOOSE_ANOTHER}`;
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code))
    return describeDamage(file, `${messageOf(error)}, ${code}`);
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code) || code.startsWith("E")) {
    const files = ["", "-wal", "-shm", ".lock"].map((suffix) => file + suffix);
    const foreignOwner = describeForeignOwner(files);
    if (foreignOwner !== undefined) return foreignOwner;
    return `${file} cannot be created or written (${messageOf(error)}). Change the permissions of its folder, or ${CHOOSE_ANOTHER}`;
  }
  const foreign = findForeign(error);
  if (foreign !== undefined)
    return `${file} belongs to another program: it has ${foreign} that the hub did not create. Its data is unchanged: ${CHOOSE_ANOTHER}`;
  return `${file} cannot be opened: ${messageOf(error)}. Check the disk, and that no other program has locked the file.`;
}

/** SQLite reports a full disk as SQLITE_FULL, or if it cannot create or extend a file, as an I/O error. */
export function isDiskFull(error: unknown, file: string): boolean {
  const code = String((error as { code?: unknown } | undefined)?.code);
  if (code === "SQLITE_FULL" || code === "ENOSPC") return true;
  return /^SQLITE_(IOERR|CANTOPEN)/.test(code) && freeBytes(file) < 64 * 1024;
}

/** The free space of the disk that contains the file. */
export function freeBytes(file: string): number {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY; // the folder does not exist
  }
}

/** A table or an index that the hub could not create, because another program has created it. */
function findForeign(error: unknown): string | undefined {
  const [, kind, name] =
    /^(table|index|relation) "?([\w$]+)"? already exists$/.exec(messageOf(error)) ?? [];
  return name && `${kind === "index" ? "an index" : "a table"} ${name}`;
}

const isFolder = (path: string) =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** A parent of `file` that exists and is not a folder. */
function findParentFile(file: string): string | undefined {
  for (let parent = dirname(file); parent !== dirname(parent); parent = dirname(parent))
    if (existsSync(parent)) return isFolder(parent) ? undefined : parent;
  return undefined;
}
