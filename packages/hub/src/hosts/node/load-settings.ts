import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { nameForOperator } from "../../github-settings.ts";
import { SettingsError } from "../../kernel/settings.ts";
import { readSettings, type Settings } from "../../settings.ts";

const FILE_NAME = "signalbox.config.json";

export function loadSettings(flags: Record<string, string | boolean | undefined>): Settings {
  const settings = readSettings({
    flags,
    env: process.env,
    file: readConfigFile(resolve(FILE_NAME)),
  });
  return { ...settings, githubAppPrivateKey: readPem(settings) };
}

/** The setting contains the private key of the App as PEM, or the path of a PEM file. */
function readPem(settings: Settings): string | undefined {
  const pemOrPath = settings.githubAppPrivateKey;
  if (pemOrPath === undefined || pemOrPath.includes("-----BEGIN")) return pemOrPath;
  try {
    return readFileSync(pemOrPath, "utf8");
  } catch (error) {
    throw new SettingsError(
      `${nameForOperator(settings, "githubAppPrivateKey")} is neither PEM nor the path of a readable file (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
}

function readConfigFile(path: string): Record<string, unknown> {
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
