import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Store } from "../../store/store.ts";
import { type Settings, SettingsError } from "../settings.ts";

type Where = Pick<Settings, "databaseUrl" | "data">;

/** Opens what DATABASE_URL names. PostgreSQL's driver is only loaded where it is used. */
export async function openStore(
  settings: Where,
  onError: (error: Error) => void = () => {},
): Promise<Store> {
  if (isSqlite(settings)) {
    const { openSqlite } = await import("../../store/backends/sqlite.ts");
    const file = sqliteFile(settings);
    try {
      if (isFolder(file))
        throw new SettingsError(
          `${file} is a folder, but DATABASE_URL=sqlite:FILE has to name a file.`,
        );
      return openSqlite(file);
    } catch (error) {
      const words = sqliteTrouble(file, error);
      throw words === undefined ? error : new SettingsError(words, { cause: error });
    }
  }
  const { openPostgres } = await import("../../store/backends/postgres.ts");
  try {
    return await openPostgres(settings.databaseUrl, { onError });
  } catch (error) {
    throw new SettingsError(
      `The database at ${withoutPassword(settings.databaseUrl)} does not open: ${messageOf(error)}. Check DATABASE_URL, and that PostgreSQL runs there.`,
      { cause: error },
    );
  }
}

export const isSqlite = ({ databaseUrl }: Pick<Settings, "databaseUrl">): boolean =>
  databaseUrl.startsWith("sqlite:");

/** `sqlite:FILE`; `sqlite://FILE` is a common way to write it, and means the same. */
export function sqliteFile({ databaseUrl, data }: Where): string {
  const path = databaseUrl.slice("sqlite:".length).replace(/^\/\//, "");
  return resolve(path === "" ? join(data, "signalbox.db") : path);
}

const ELSEWHERE = "choose another place with SIGNALBOX_DATA or DATABASE_URL=sqlite:FILE.";

/** What the operator can do about it; undefined for what is no trouble with the file. */
function sqliteTrouble(file: string, error: unknown): string | undefined {
  const code = (error as { code?: unknown }).code;
  if (typeof code !== "string" || !/^(SQLITE_|E[A-Z]+$)/.test(code)) return undefined;
  const blocking = fileAmongFolders(file);
  if (blocking !== undefined)
    return `${blocking} is no folder, so the database cannot lie in it. Move it away, or ${ELSEWHERE}`;
  if (/^SQLITE_(NOTADB|CORRUPT)/.test(code))
    return `${file} is damaged, or no SQLite database at all. Restore it from a backup, or move it away to start with an empty one.`;
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code) || code.startsWith("E"))
    return `${file} cannot be made or written (${messageOf(error)}). Change the rights of its folder, or ${ELSEWHERE}`;
  return `${file} does not open: ${messageOf(error)}. Check the disk, and that nothing else holds the file.`;
}

const isFolder = (path: string) =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The part of the way to a file that should be a folder and is none. */
function fileAmongFolders(file: string): string | undefined {
  for (let at = dirname(file); at !== dirname(at); at = dirname(at))
    if (existsSync(at)) return isFolder(at) ? undefined : at;
  return undefined;
}

/** A URL that can be shown. One that cannot be read may hold a password anywhere. */
export function withoutPassword(url: string): string {
  if (isSqlite({ databaseUrl: url })) return url;
  if (!URL.canParse(url)) return "postgres://…";
  const parsed = new URL(url);
  if (parsed.password) parsed.password = "***";
  for (const name of [...parsed.searchParams.keys()])
    if (/password/i.test(name)) parsed.searchParams.set(name, "***");
  return parsed.href;
}

/** A refused connection comes as an AggregateError without a message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
