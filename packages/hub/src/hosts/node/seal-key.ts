import { randomBytes, randomUUID } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { KEY_BYTES } from "../../lib/seal.ts";
import { SettingsError } from "../settings.ts";

/** The key that seals stored secrets: from SIGNALBOX_KEY, else a file made on first start. */
export function sealKey(given: string | undefined, dataFolder: string): Uint8Array {
  if (given !== undefined) return Buffer.from(given, "base64");
  const file = join(dataFolder, "key");
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const text = readKey(file) ?? makeKey(file);
  const key = Buffer.from(text, "base64");
  if (key.byteLength === KEY_BYTES) return key;
  throw new SettingsError(
    text === ""
      ? `${file} is empty, but should hold a key of ${KEY_BYTES} bytes in base64. Restore it from a backup: stored secrets open only with it. Where none are stored, remove the file, and the next start makes a new one.`
      : `${file} does not hold a key of ${KEY_BYTES} bytes in base64. Restore it from a backup: stored secrets open only with it.`,
  );
}

function readKey(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * The file appears whole, or not at all: it is written and fsynced under another name, then linked.
 * Of two processes that start at once the loser finds the link there, and reads the winner's key.
 */
function makeKey(file: string): string {
  const draft = `${file}.${randomUUID()}`;
  const made = randomBytes(KEY_BYTES).toString("base64");
  try {
    writeDurably(draft, `${made}\n`);
    linkSync(draft, file);
    fsyncFolder(join(file, ".."));
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return readKey(file) ?? "";
  } finally {
    rmSync(draft, { force: true });
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
