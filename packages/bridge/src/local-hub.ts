/** Finds the hub on this machine. A running hub leaves its address in `hub.json` in its data folder. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseUrl } from "./parse-url.ts";
import { isRecord } from "./stream-event.ts";

const DEFAULT_URL = "http://127.0.0.1:4747";
const LOOPBACK = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?\//;

export function findLocalHub(dataFolder: string): { url: string; from: string } {
  const path = resolve(join(dataFolder, "hub.json"));
  const url = readUrl(path);
  return url === undefined
    ? { url: DEFAULT_URL, from: "the default" }
    : { url: url.href, from: path };
}

/**
 * Only a loopback address: the data folder is relative to the working directory, and the `hub.json` of a
 * cloned repository must not receive the user's token.
 */
function readUrl(path: string): URL | undefined {
  try {
    const file: unknown = JSON.parse(readFileSync(path, "utf8"));
    const url = isRecord(file) && typeof file.url === "string" ? parseUrl(file.url) : undefined;
    return url && LOOPBACK.test(url.href) ? url : undefined;
  } catch {
    return undefined;
  }
}
