import { randomBytes, randomUUID } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { KEY_BYTES, parseKeys } from "../../kernel/lib/seal.ts";
import { SettingsError } from "../../kernel/settings.ts";
import { describeForeignOwner } from "./data-folder.ts";

export const createSealKey = () => randomBytes(KEY_BYTES);

/** The first key encrypts stored secrets. The others, which it has replaced, only decrypt. */
export type SealKeys = [Uint8Array, ...Uint8Array[]];

const keyFile = (dataFolder: string): string => join(dataFolder, "key");

/** Loads the keys from SIGNALBOX_KEY, or from a file that the first start creates. */
export function loadSealKeys(
  configuredKeys: string | undefined,
  dataFolder: string,
  { canCreate = true } = {},
): SealKeys {
  const configured = configuredKeys === undefined ? undefined : parseKeys(configuredKeys);
  if (configured) return configured;
  const file = keyFile(dataFolder);
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const existing = readKey(file);
  if (existing === undefined && !canCreate)
    throw new SettingsError(
      `${file} is missing, but the database contains secrets that its key encrypted. Restore the file from a backup, or set SIGNALBOX_KEY. If the key is lost, start once with --accept-lost-key, and enter the secrets again.`,
    );
  restrictMode(file);
  const text = existing ?? createKey(file);
  const keys = parseKeys(text);
  if (keys) return keys;
  throw new SettingsError(
    text === ""
      ? `${file} is empty, but must contain a key of ${KEY_BYTES} bytes in base64. Restore it from a backup: only this key decrypts the stored secrets. If no secrets are stored, remove the file; the next start creates a new one.`
      : `${file} does not contain a key of ${KEY_BYTES} bytes in base64. Restore it from a backup: only this key decrypts the stored secrets.`,
  );
}

/**
 * Replaces the content of the key file atomically. A new file has the owner of the former one, since root may
 * run the command for a hub of another user.
 */
export function writeSealKeys(dataFolder: string, keys: SealKeys): void {
  const file = keyFile(dataFolder);
  const temporary = `${file}.${randomUUID()}`;
  try {
    const text = keys.map((key) => `${Buffer.from(key).toString("base64")}\n`).join("");
    writeDurably(temporary, text);
    if (process.geteuid?.() === 0) {
      const { uid, gid } = statSync(file);
      chownSync(temporary, uid, gid);
    }
    renameSync(temporary, file);
    fsyncFolder(dataFolder);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function readKey(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new SettingsError(
      describeForeignOwner([file]) ??
        `${file} cannot be read (${message}). It must be a file that the user of the hub may read.`,
      { cause: error },
    );
  }
}

/**
 * Makes the file readable by its owner only: a backup tool may have restored it with other permissions.
 * The mode of a file of another user, or in a read-only volume such as a Kubernetes secret, cannot be
 * changed. Such a file may be readable by the group, but not by all users.
 */
function restrictMode(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return;
  try {
    chmodSync(file, 0o600);
  } catch (error) {
    if (!["EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    if ((mode & 0o007) === 0) return;
    throw new SettingsError(
      `All users can read ${file}, and its mode cannot be changed. Change its mode, as root: chmod 600 '${file}'. ${describeForeignOwner([file]) ?? ""}`.trimEnd(),
    );
  }
}

/**
 * Creates the file atomically: writes and fsyncs it under another name, then links it. If two
 * processes start together, the second one fails to link, and reads the first one's key.
 */
function createKey(file: string): string {
  const temporary = `${file}.${randomUUID()}`;
  const key = createSealKey().toString("base64");
  try {
    writeDurably(temporary, `${key}\n`);
    linkSync(temporary, file);
    fsyncFolder(join(file, ".."));
    return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return readKey(file) ?? "";
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeDurably(file: string, text: string): void {
  const handle = openSync(file, "wx", 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

function fsyncFolder(folder: string): void {
  const handle = openSync(folder, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
