/**
 * Defines and reads all settings. Flags override the environment, which overrides
 * signalbox.config.json, which overrides the default. `signalbox config` prints the origin of each value.
 */
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { connectionDefinitions } from "./connections/settings.ts";
import { secretVariable } from "./events/admit/source.ts";
import { eventDefinitions } from "./events/settings.ts";
import { sources } from "./events/sources/index.ts";
import { flowDefinitions } from "./flows/settings.ts";
import { githubDefinitions } from "./github/settings.ts";
import { isLoopback } from "./kernel/http/addresses.ts";
import { kernelDefinitions } from "./kernel/kernel-settings.ts";
import { type Setting, SettingsError, type ValuesOf } from "./kernel/settings.ts";
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

export interface Origin {
  name: string;
  env: string;
  value: unknown;
  from: "flag" | "environment" | "file" | "default";
  secret: boolean;
}

export interface Settings extends ValuesOf<typeof definitions> {
  /** Webhook secrets by source, from the environment or the file. */
  secrets: Record<string, string[]>;
  /** Whether other machines can reach the hub. */
  isPublic: boolean;
  origins: Origin[];
}

export interface SettingsInput {
  flags: Record<string, string | boolean | undefined>;
  env: Record<string, string | undefined>;
  /** The parsed signalbox.config.json. */
  file: Record<string, unknown>;
}

export function readSettings({ flags, env, file }: SettingsInput): Settings {
  const origins: Origin[] = [];
  const problems: string[] = [];
  const values: Record<string, unknown> = {};

  for (const [name, { env: variable, flag, schema, secret = false }] of Object.entries(
    definitions as Record<string, Setting<unknown>>,
  )) {
    const [from, input] = firstDefined(
      ["flag", flag === undefined ? undefined : flags[flag]],
      ["environment", env[variable]?.trim() ? env[variable] : undefined],
      ["file", file[name]],
    );
    const parsed = schema.safeParse(input);
    if (parsed.success) values[name] = parsed.data;
    else {
      const where = {
        flag: `--${flag}`,
        environment: variable,
        file: `"${name}" in signalbox.config.json`,
        default: variable,
      }[from];
      problems.push(
        `${where} ${parsed.error.issues[0]?.message ?? "is invalid"}${secret ? "" : `, but is ${JSON.stringify(input)}`}.`,
      );
    }
    origins.push({ name, env: variable, value: values[name], from, secret });
  }

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

  const settings = values as ValuesOf<typeof definitions>;
  return {
    ...settings,
    secrets,
    origins,
    isPublic: !isLoopback(settings.host) || settings.publicUrl !== undefined,
  };
}

const splitSecrets = (value: string | string[]): string[] =>
  (typeof value === "string" ? value.split(",") : value).map((secret) => secret.trim());

/**
 * An empty secret is an error: anyone can sign with it, and a hub that ignored it could accept unsigned
 * webhooks.
 */
const emptySecret = (where: string) =>
  `${where} contains an empty secret. Set a value, or remove it.`;

/** Reads a secret for a command from the environment: other users could read a flag. */
export function readSecret(
  env: Record<string, string | undefined>,
  variable: string,
): string | undefined {
  const value = env[variable];
  if (!value) return undefined;
  if (!value.trim()) throw new SettingsError(emptySecret(variable));
  return value.trim();
}

function firstDefined<From extends string>(
  ...candidates: [From, unknown][]
): [From | "default", unknown] {
  return candidates.find(([, value]) => value !== undefined) ?? ["default", undefined];
}

/** The hub's URL on this machine. If the hub listens on all addresses, the URL has the loopback address. */
export function localUrl({ host, port }: Pick<Settings, "host" | "port">): string {
  if (!ipaddr.isValid(host)) return `http://${host}:${port}`;
  const address = ipaddr.parse(host);
  if (address.range() === "unspecified") return `http://127.0.0.1:${port}`;
  return `http://${address.kind() === "ipv6" ? `[${host}]` : host}:${port}`;
}
