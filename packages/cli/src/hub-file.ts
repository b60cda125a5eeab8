/**
 * `hub.json` in the data folder describes the running hub, so that commands on the same machine find
 * it. The token in the file has all scopes, and is valid only while that process runs.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SettingsError } from "@signalbox/rules/settings.ts";
import { z } from "zod";

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
