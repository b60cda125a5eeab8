/**
 * Defines and reads all settings. Flags override the environment, which overrides
 * signalbox.config.json, which overrides the default. `signalbox config` prints the origin of each value.
 */
import { z } from "zod";
import { connectionDefinitions } from "./connections/settings.ts";
import { secretVariable } from "./events/admit/source.ts";
import { eventDefinitions } from "./events/settings.ts";
import { sources } from "./events/sources/index.ts";
import { flowDefinitions } from "./flows/settings.ts";
import { githubDefinitions } from "./github/settings.ts";
import { isLoopback } from "./kernel/http/addresses.ts";
import { kernelDefinitions } from "./kernel/kernel-settings.ts";
import {
  emptySecret,
  firstDefined,
  type Origin,
  readValues,
  SettingsError,
  type SettingsInput,
  type ValuesOf,
} from "./kernel/settings.ts";
import { peopleDefinitions } from "./people/settings.ts";
import { redeliveryDefinitions } from "./redelivery/settings.ts";

export const definitions = {
  ...kernelDefinitions,
  ...eventDefinitions,
  ...githubDefinitions,
  ...peopleDefinitions,
  ...redeliveryDefinitions,
  ...connectionDefinitions,
  ...flowDefinitions,
};

export type SettingName = keyof typeof definitions;

export interface Settings extends ValuesOf<typeof definitions> {
  /** Webhook secrets by source, from the environment or the file. */
  secrets: Record<string, string[]>;
  /** Whether other machines can reach the hub. */
  isPublic: boolean;
  origins: Origin[];
}

export function readSettings(input: SettingsInput): Settings {
  const { values, origins, problems } = readValues(definitions, input);
  const { env, file } = input;
  const secrets: Record<string, string[]> = {};
  const fileSecrets = z
    .record(z.string(), z.union([z.string(), z.array(z.string())]))
    .safeParse(file.secrets ?? {});
  if (!fileSecrets.success)
    problems.push(
      '"secrets" in signalbox.config.json must map sources to a secret or a list of them.',
    );
  for (const { id } of sources) {
    const variable = secretVariable(id);
    const [from, input] = firstDefined(
      ["environment", env[variable] || undefined],
      ["file", fileSecrets.data?.[id]],
    ) as [Origin["from"], string | string[] | undefined];
    const where = from === "file" ? `"secrets.${id}" in signalbox.config.json` : variable;
    const list = input === undefined ? [] : splitSecrets(input);
    if (input !== undefined && (list.length === 0 || list.includes("")))
      problems.push(emptySecret(where));
    secrets[id] = list;
    if (input !== undefined || id === "github")
      origins.push({ name: `secrets.${id}`, env: variable, value: input, from, secret: true });
  }
  for (const name of Object.keys(file))
    if (!(name in definitions) && name !== "secrets")
      problems.push(
        `signalbox.config.json has an unknown setting "${name}". Known settings: ${[...Object.keys(definitions), "secrets"].join(", ")}.`,
      );
  for (const name of Object.keys(fileSecrets.data ?? {}))
    if (!sources.some(({ id }) => id === name))
      problems.push(
        `"secrets" in signalbox.config.json names an unknown source "${name}". Known sources: ${sources.map(({ id }) => id).join(", ")}.`,
      );
  if (problems.length > 0) throw new SettingsError(problems.join("\n"));

  return {
    ...values,
    secrets,
    origins,
    isPublic: !isLoopback(values.host) || values.publicUrl !== undefined,
  };
}

const splitSecrets = (value: string | string[]): string[] =>
  (typeof value === "string" ? value.split(",") : value).map((secret) => secret.trim());
