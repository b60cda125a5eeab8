import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { whereOf } from "../github-settings.ts";
import { readSettings, type Settings, SettingsError } from "../settings.ts";

const FILE = "signalbox.config.json";

export function loadSettings(flags: Record<string, string | boolean | undefined>): Settings {
  const settings = readSettings({ flags, env: process.env, file: readFile(resolve(FILE)) });
  return { ...settings, githubAppPrivateKey: readPem(settings) };
}

/** The private key of the App is given as PEM, or as the path of a file. */
function readPem(settings: Settings): string | undefined {
  const given = settings.githubAppPrivateKey;
  if (given === undefined || given.includes("-----BEGIN")) return given;
  try {
    return readFileSync(given, "utf8");
  } catch (error) {
    throw new SettingsError(
      `${whereOf(settings, "githubAppPrivateKey")} is neither PEM nor the path of a readable file (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
}

function readFile(path: string): Record<string, unknown> {
  if (!existsSync(path)) return {};
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch (error) {
    throw new SettingsError(`${FILE} is not valid JSON: ${(error as Error).message}`);
  }
  throw new SettingsError(`${FILE} must contain a JSON object of settings.`);
}
