/** The settings of a program that only calls hubs, and the file that can contain settings. */
import { existsSync, readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { resolve } from "node:path";
import { clientDefinitions } from "@signalbox/rules/client-settings.ts";
import {
  type Origin,
  readValues,
  SettingsError,
  type ValuesOf,
} from "@signalbox/rules/settings.ts";

/** The settings that commands read. Those of a hub have more. */
export interface ClientSettings extends ValuesOf<typeof clientDefinitions> {
  /** Undefined if the program does not know the tenancy of the hub. */
  tenancy?: Tenancy;
  origins: Origin[];
}

export type Tenancy = "single" | "github";

/** The definitions with the help of a program that cannot start a hub. */
export const clientSettings = {
  ...clientDefinitions,
  port: { ...clientDefinitions.port, help: "port of a hub on this machine" },
  host: { ...clientDefinitions.host, help: "address of a hub on this machine" },
  data: { ...clientDefinitions.data, help: "the data folder of a hub on this machine" },
  token: { ...clientDefinitions.token, help: "the token that the commands send" },
};

/** The file may also contain settings of a hub, which are ignored. */
export function loadClientSettings(
  flags: Record<string, string | boolean | undefined>,
): ClientSettings {
  const input = { flags, env: process.env, file: readConfigFile() };
  const { values, origins, problems } = readValues(clientSettings, input);
  if (problems.length > 0) throw new SettingsError(problems.join("\n"));
  return { ...values, origins };
}

const FILE_NAME = "signalbox.config.json";

/** Reads the file in the current folder; empty if there is none. */
export function readConfigFile(): Record<string, unknown> {
  const path = resolve(FILE_NAME);
  if (!existsSync(path)) return {};
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (error) {
    throw new SettingsError(`${FILE_NAME} is not valid JSON: ${(error as Error).message}`);
  }
  throw new SettingsError(`${FILE_NAME} must contain a JSON object of settings.`);
}

/** The hub's URL on this machine. If the hub listens on all addresses, the URL has the loopback address. */
export function localUrl({ host, port }: Pick<ClientSettings, "host" | "port">): string {
  const name = isIPv6(host) ? `[${host}]` : host;
  // The parser of URLs normalizes addresses.
  const isUnspecified = ["0.0.0.0", "[::]"].includes(URL.parse(`http://${name}`)?.hostname ?? "");
  return `http://${isUnspecified ? "127.0.0.1" : name}:${port}`;
}
