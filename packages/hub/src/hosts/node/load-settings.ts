import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readSettings, type Settings, SettingsError } from "../settings.ts";

const FILE = "signalbox.config.json";

export function loadSettings(flags: Record<string, string | boolean | undefined>): Settings {
  return readSettings({ flags, env: process.env, file: readFile(resolve(FILE)) });
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
