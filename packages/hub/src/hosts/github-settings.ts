/** The settings of the GitHub App. They come in pairs, and half a pair is a mistake. */
import type { GithubSettings } from "../host-ports.ts";
import { toPkcs8 } from "../tenants/rsa-key.ts";
import { definitions, type SettingName, type Settings, SettingsError } from "./settings.ts";

/** Throws if one setting of a pair is missing, or the private key is not a PEM of an RSA key. */
export function githubSettings(settings: Settings): GithubSettings {
  const { githubAppSlug, githubRedelivery } = settings;
  const app = pair(settings, "githubAppId", "githubAppPrivateKey");
  const client = pair(settings, "githubClientId", "githubClientSecret");
  if (app && typeof toPkcs8(app[1]) === "string")
    throw new SettingsError(
      `${whereOf(settings, "githubAppPrivateKey")} ${toPkcs8(app[1])}. Generate a private key on the page of your GitHub App, and set the contents or the path of the file.`,
    );
  return {
    url: withoutSlash(settings.githubUrl),
    apiUrl: withoutSlash(settings.githubApiUrl),
    app: app && { id: app[0], privateKey: app[1] },
    client: client && { id: client[0], secret: client[1] },
    slug: githubAppSlug,
    redeliverEveryMs: githubRedelivery === "off" ? undefined : githubRedelivery * 60_000,
  };
}

type TextSetting = "githubAppId" | "githubAppPrivateKey" | "githubClientId" | "githubClientSecret";

function pair(
  settings: Settings,
  first: TextSetting,
  second: TextSetting,
): [string, string] | undefined {
  const values = [settings[first], settings[second]];
  if (values[0] !== undefined && values[1] !== undefined) return [values[0], values[1]];
  if (values[0] === values[1]) return undefined;
  const [set, missing] = values[0] === undefined ? [second, first] : [first, second];
  throw new SettingsError(
    `${whereOf(settings, set)} is set, but ${definitions[missing].env} is not. Set both, or neither.`,
  );
}

/** The name under which the operator has set a value. */
export const whereOf = ({ origins }: Pick<Settings, "origins">, name: SettingName): string =>
  origins.some((origin) => origin.name === name && origin.from === "file")
    ? `"${name}" in signalbox.config.json`
    : definitions[name].env;

const withoutSlash = (url: string): string => url.replace(/\/+$/, "");
