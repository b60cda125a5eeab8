import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { KEY_BYTES } from "../../lib/seal.ts";
import { SettingsError } from "../settings.ts";

/** The key that seals stored secrets: from SIGNALBOX_KEY, else a file made on first start. */
export function sealKey(given: string | undefined, dataFolder: string): Uint8Array {
  if (given !== undefined) return Buffer.from(given, "base64");
  const file = join(dataFolder, "key");
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  try {
    // Fails where the file is there: two processes that start at once agree on one key.
    writeFileSync(file, `${randomBytes(KEY_BYTES).toString("base64")}\n`, {
      flag: "wx",
      mode: 0o600,
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const key = Buffer.from(readFileSync(file, "utf8").trim(), "base64");
  if (key.byteLength !== KEY_BYTES)
    throw new SettingsError(
      `${file} does not hold a key of ${KEY_BYTES} bytes in base64. Restore it from a backup: stored secrets open only with it.`,
    );
  return key;
}
