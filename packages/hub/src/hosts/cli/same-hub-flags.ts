import { resolve } from "node:path";
import type { Origin, Settings } from "../settings.ts";

/**
 * The flags with which a printed command finds the same hub. `others` are the origins of settings that
 * are unknown where the command will run.
 */
export function sameHubFlags(
  { url, data, origins }: Pick<Settings, "url" | "data" | "origins">,
  others: readonly Origin["from"][] = ["flag"],
): string {
  const isElsewhere = (setting: string) =>
    origins.some(({ name, from }) => name === setting && others.includes(from));
  const flags = [
    ...(url !== undefined && isElsewhere("url") ? [`--url ${quote(url)}`] : []),
    ...(isElsewhere("data") ? [`--data ${quote(resolve(data))}`] : []),
  ];
  return flags.map((flag) => ` ${flag}`).join("");
}

export const quote = (text: string): string =>
  /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** `serve` has no flag `--url`. */
export const serveFlags = (settings: Pick<Settings, "data" | "origins">): string =>
  sameHubFlags({ ...settings, url: undefined });
