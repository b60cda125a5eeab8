/**
 * Files of the data folder. `database` names the SQLite databases that a hub has opened with this folder, one
 * per line. If one of them is missing or empty later, its data was lost. Without the marker, the hub creates it:
 * a hub that was killed during its very first start leaves an empty file. `hub.json` is in `@signalbox/cli`.
 */
import { appendFileSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { SettingsError } from "../../kernel/settings.ts";

const markerFile = (data: string): string => join(data, "database");

/** Relative, so that the folder can be moved. */
const nameOf = (data: string, file: string): string => relative(data, file);

/** Throws if the file is missing or has no bytes, but a hub has opened it before. */
export function assertNotLost(data: string, file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 && isDatabaseMarked(data, file)) throw new SettingsError(describeLoss(data, file));
}

export function describeLoss(data: string, file: string): string {
  const marker = markerFile(data);
  return `${file} is missing or empty, but ${marker} shows that a hub has stored data in it. Restore it from a backup (docs/deploy.md), and check that its disk is mounted. To start with an empty database, delete ${marker}.`;
}

/** Called when the database has its complete schema. */
export function markDatabase(data: string, file: string): void {
  if (isDatabaseMarked(data, file)) return;
  try {
    mkdirSync(data, { recursive: true, mode: 0o700 });
    appendFileSync(markerFile(data), `${nameOf(data, file)}\n`, { mode: 0o600 });
  } catch {
    // The data folder is read-only, and the database is elsewhere. `announce` in start-hub.ts logs a warning.
  }
}

/** Whether a hub has opened this database with this data folder. */
export function isDatabaseMarked(data: string, file: string): boolean {
  try {
    return readFileSync(markerFile(data), "utf8").split("\n").includes(nameOf(data, file));
  } catch {
    return false;
  }
}

/**
 * Describes the first of these files that belongs to another user than this process, with the fix; undefined if
 * there is none. Such files remain after a restore as root. Files that do not exist are skipped.
 */
export function describeForeignOwner(files: readonly string[]): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined || user === 0) return undefined;
  const foreign = files.find((file) => ![undefined, user].includes(ownerOf(file)));
  if (foreign === undefined) return undefined;
  const folder = dirname(foreign);
  const fix =
    ownerOf(folder) === user
      ? `chown --reference='${folder}' '${foreign}'`
      : `chown --recursive ${user} '${folder}'`;
  return `${foreign} belongs to the user ${ownerOf(foreign)}, but this process runs as the user ${user}. Change its owner, as root: ${fix}`;
}

function ownerOf(file: string): number | undefined {
  try {
    return statSync(file).uid;
  } catch {
    return undefined; // it does not exist, or its folder cannot be read
  }
}
