/**
 * Derives the hub's GitHub settings. The App's id and private key must be set together, and so must the
 * client's id and secret.
 */

import { toPkcs8 } from "./github/rsa-key.ts";
import type { GithubSettings } from "./host-ports.ts";
import { SettingsError } from "./kernel/settings.ts";
import { definitions, type SettingName, type Settings } from "./settings.ts";

/** Throws if one setting of a pair is missing, or the private key is not a PEM of an RSA key. */
export function githubSettings(settings: Settings): GithubSettings {
  const { githubAppSlug } = settings;
  const app = readPair(settings, "githubAppId", "githubAppPrivateKey");
  const client = readPair(settings, "githubClientId", "githubClientSecret");
  const pkcs8OrProblem = app && toPkcs8(app[1]);
  if (typeof pkcs8OrProblem === "string")
    throw new SettingsError(
      `${nameForOperator(settings, "githubAppPrivateKey")} ${pkcs8OrProblem}. Generate a private key on the page of your GitHub App, and set the contents or the path of the file.`,
    );
  return {
    url: withoutSlash(settings.githubUrl),
    apiUrl: withoutSlash(settings.githubApiUrl),
    app: app && { id: app[0], privateKey: app[1] },
    client: client && { id: client[0], secret: client[1] },
    slug: githubAppSlug,
  };
}

type TextSetting = "githubAppId" | "githubAppPrivateKey" | "githubClientId" | "githubClientSecret";

function readPair(
  settings: Settings,
  first: TextSetting,
  second: TextSetting,
): [string, string] | undefined {
  const values = [settings[first], settings[second]];
  if (values[0] !== undefined && values[1] !== undefined) return [values[0], values[1]];
  if (values[0] === values[1]) return undefined;
  const [set, missing] = values[0] === undefined ? [second, first] : [first, second];
  throw new SettingsError(
    `${nameForOperator(settings, set)} is set, but ${definitions[missing].env} is not. Set both, or neither.`,
  );
}

/** The name by which an error message refers to a setting: its key in the file, or its variable. */
export const nameForOperator = (
  { origins }: Pick<Settings, "origins">,
  name: SettingName,
): string =>
  origins.some((origin) => origin.name === name && origin.from === "file")
    ? `"${name}" in signalbox.config.json`
    : definitions[name].env;

const withoutSlash = (url: string): string => url.replace(/\/+$/, "");
