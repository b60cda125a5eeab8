import { resolve } from "node:path";
import type { Origin } from "@signalbox/rules/settings.ts";
import type { ClientSettings } from "./settings.ts";

/**
 * Returns the flags with which a printed command finds the same hub. `missingOrigins` are the origins of
 * settings that are not available where the user will run the command.
 */
export function sameHubFlags(
  { url, data, origins }: Pick<ClientSettings, "url" | "data" | "origins">,
  missingOrigins: readonly Origin["from"][] = ["flag"],
): string {
  const needsFlag = (setting: string) =>
    origins.some(({ name, from }) => name === setting && missingOrigins.includes(from));
  const flags = [
    ...(url !== undefined && needsFlag("url") ? [`--url ${quoteForShell(url)}`] : []),
    ...(needsFlag("data") ? [`--data ${quoteForShell(resolve(data))}`] : []),
  ];
  return flags.map((flag) => ` ${flag}`).join("");
}

export const quoteForShell = (text: string): string =>
  /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Returns the flags with which `serve` starts a hub on the same data folder. */
export const serveFlags = (settings: Pick<ClientSettings, "data" | "origins">): string =>
  sameHubFlags({ ...settings, url: undefined });
