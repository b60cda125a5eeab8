import { readFileSync } from "node:fs";
import { readConfigFile } from "@signalbox/cli/src/settings.ts";
import { nameForOperator } from "../../github-settings.ts";
import { SettingsError } from "../../kernel/settings.ts";
import { readSettings, type Settings } from "../../settings.ts";

export function loadSettings(flags: Record<string, string | boolean | undefined>): Settings {
  const settings = readSettings({
    flags,
    env: process.env,
    file: readConfigFile(),
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
