/**
 * Files of the data folder:
 *
 * - `hub.json` describes the running hub, so that commands on the same machine find it. The token in the file
 *   has all scopes, and is valid only while that process runs.
 * - `database` names the SQLite databases that a hub has opened with this folder, one per line. If one of them
 *   is missing or empty later, its data was lost. Without the marker, the hub creates it: a hub that was killed
 *   during its very first start leaves an empty file.
 */
import { randomUUID } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import { SettingsError } from "../../kernel/settings.ts";

const hubFileSchema = z.object({
  pid: z.int(),
  /** An address of this machine that reaches the hub. */
  url: z.url(),
  /** The address for senders and clients on other machines. */
  public_url: z.url(),
  tenancy: z.enum(["single", "github"]),
  /** The sources whose endpoint without a key has a secret. */
  signed_sources: z.array(z.string()),
  /** Whether webhooks of sources without a secret are accepted. */
  unsigned: z.boolean(),
  started_at: z.string(),
  version: z.string(),
  token: z.string(),
});

export type HubFile = z.infer<typeof hubFileSchema>;

const hubFilePath = (data: string): string => join(data, "hub.json");

/**
 * Returns undefined if there is no file. A hub that was killed leaves its file behind. Throws if the
 * file is unreadable or damaged, since a hub may be running.
 */
export function readHubFile(data: string): HubFile | undefined {
  const file = hubFilePath(data);
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new SettingsError(
      `The file that describes the running hub cannot be read (${message}). Run the command as the user of the hub, or set SIGNALBOX_URL and SIGNALBOX_TOKEN.`,
    );
  }
  const content = parseHubFile(text);
  if (content) return content;
  throw new SettingsError(
    `${file}, which describes the running hub, is damaged or from another version of Signalbox. Restart the hub, or delete the file if no hub is running.`,
  );
}

function parseHubFile(text: string): HubFile | undefined {
  try {
    return hubFileSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** Like `readHubFile`, but returns undefined if the file is unreadable or damaged. */
export function tryReadHubFile(data: string): HubFile | undefined {
  try {
    return readHubFile(data);
  } catch {
    return undefined;
  }
}

/** Removes the file of a hub that was killed. */
export const removeHubFile = (data: string): void => rmSync(hubFilePath(data), { force: true });

/** Writes the file atomically: a command never reads a part of it. Returns a function that removes it. */
export function writeHubFile(data: string, content: HubFile): () => void {
  const file = hubFilePath(data);
  const temporary = `${file}.${randomUUID()}`;
  mkdirSync(data, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { flag: "wx", mode: 0o600 });
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return () => {
    // Another replica may have replaced the file in the meantime.
    if (tryReadHubFile(data)?.token === content.token) removeHubFile(data);
  };
}

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
