import { join, resolve } from "node:path";
import type { Store } from "../../store/store.ts";
import { type Settings, SettingsError } from "../settings.ts";

/** Opens what DATABASE_URL names. PostgreSQL's driver is only loaded where it is used. */
export async function openStore(
  settings: Pick<Settings, "databaseUrl" | "data">,
  onError: (error: Error) => void = () => {},
): Promise<Store> {
  if (settings.databaseUrl.startsWith("sqlite:")) {
    const { openSqlite } = await import("../../store/backends/sqlite.ts");
    return openSqlite(sqliteFile(settings));
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

export function sqliteFile({ databaseUrl, data }: Pick<Settings, "databaseUrl" | "data">): string {
  const path = databaseUrl.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
  return resolve(path === "" ? join(data, "signalbox.db") : path);
}

export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  if (parsed.password) parsed.password = "***";
  return parsed.href;
}

/** A refused connection comes as an AggregateError without a message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
