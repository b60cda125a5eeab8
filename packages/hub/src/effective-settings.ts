/** The settings as `signalbox config` and the API show them: without secrets. */

import { withoutPassword } from "./hosts/without-password.ts";
import type { Origin } from "./kernel/settings.ts";
import type { EffectiveSetting } from "./operations/settings-routes.ts";
import { definitions, type SettingName } from "./settings.ts";

/** Formats the value of a setting: a secret as `(set)`, and the database URL without its password. */
function formatSetting({ name, value, secret }: Origin): string | null {
  if (value === undefined) return null;
  if (name === "databaseUrl") return withoutPassword(String(value));
  if (name === "allowPrivate" && typeof value === "boolean") return value ? "on" : "off";
  return secret ? "(set)" : Array.isArray(value) ? value.join(",") : String(value);
}

export const effectiveSettings = (origins: readonly Origin[]): EffectiveSetting[] =>
  origins.map((origin) => {
    const definition = definitions[origin.name as SettingName] as
      | { flag?: string; help: string }
      | undefined;
    return {
      name: origin.name,
      variable: origin.env,
      flag: definition?.flag ?? null,
      value: formatSetting(origin),
      from: origin.from,
      // Only the origins `secrets.SOURCE` have no definition.
      help: definition?.help ?? "secrets of webhooks",
    };
  });
