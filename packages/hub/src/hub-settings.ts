/** Derives the hub's settings from those of the operator, and checks that they are safe. */

import { isShortSecret, SHORT_SECRET } from "@signalbox/contract/secret-length.ts";
import { readEventSettings } from "./events/settings.ts";
import { readFlowSettings } from "./flows/settings.ts";
import { githubSettings } from "./github-settings.ts";
import type { HubSettings } from "./host-ports.ts";
import { isLoopback, parseNetworks } from "./kernel/http/addresses.ts";
import { SettingsError } from "./kernel/settings.ts";
import { readPeopleSettings } from "./people/settings.ts";
import { readRedeliverySettings } from "./redelivery/settings.ts";
import type { Settings } from "./settings.ts";

/** The settings that derive from those of the operator; the host adds the others. */
type DerivedSettings = Omit<
  HubSettings,
  "version" | "sealKey" | "formerSealKeys" | "bodyBudgetBytes" | "sweepEveryMs" | "localToken"
>;

export function hubSettings(settings: Settings, storedSecretCount: number): DerivedSettings {
  const { proxyHeader } = settings;
  const { isPublic, tenancy } = settings;
  return {
    ...readEventSettings(settings, { isPublic, defaultQuota: tenancy === "github" ? 10_000 : 0 }),
    ...readFlowSettings(settings),
    ...readPeopleSettings(settings),
    ...readRedeliverySettings(settings),
    host: settings.host,
    port: settings.port,
    publicUrl: settings.publicUrl,
    hosts: settings.hosts,
    limits: {
      bodyBytes: settings.maxBodyMegabytes * 1024 * 1024,
      importBytes: Math.max(settings.maxImportMegabytes, settings.maxBodyMegabytes) * 1024 * 1024,
      values: settings.maxValues,
      importValues: Math.max(settings.maxImportValues, settings.maxValues),
      webhookValues: settings.maxWebhookValues,
    },
    isPublic: settings.isPublic,
    metricsNeedToken:
      settings.metrics === "token" || (settings.metrics === "auto" && settings.isPublic),
    tenancy: settings.tenancy,
    adminToken: settings.token,
    secrets: settings.secrets,
    allowUnsigned: allowsUnsigned(settings, storedSecretCount),
    github: githubSettings(settings),
    proxy:
      proxyHeader === undefined
        ? undefined
        : { header: proxyHeader.toLowerCase(), networks: parseNetworks(settings.proxyAddresses) },
    allowHttp: settings.allowPrivate !== false,
    maxStreams: settings.maxStreams,
  };
}

/**
 * Throws if the admin token is too short. For a public hub, also throws if it accepts unsigned
 * webhooks, has no webhook secret, or has a secret that is too short.
 */
export function assertSafe(settings: Settings, storedSecretCount: number): void {
  assertAdminToken(settings);
  if (!settings.isPublic) return;
  assertLongSecrets(settings);
  if (settings.allowUnsigned)
    throw new SettingsError(
      "--allow-unsigned is for hubs that only this machine can reach, but this hub is public " +
        `(${reasonsForPublic(settings).join(", ")}). Set GITHUB_WEBHOOK_SECRET instead.`,
    );
  if (!hasSecret(settings, storedSecretCount))
    throw new SettingsError(
      `This hub is public (${reasonsForPublic(settings).join(", ")}), but has no webhook secret, so it cannot tell a real webhook from a forged one. ` +
        `Set GITHUB_WEBHOOK_SECRET (or the secret of another source), or make the hub local: ${stepsToMakeLocal(settings).join(", and ")}.`,
    );
}

/** Only for public hubs. A local hub logs a warning instead, see `warnOfShortSecrets`. */
function assertLongSecrets({ secrets, origins }: Settings): void {
  for (const { name, env, from } of origins) {
    const source = /^secrets\.(.+)$/.exec(name)?.[1];
    if (source === undefined || !secrets[source]?.some(isShortSecret)) continue;
    const where = from === "file" ? `"${name}" in signalbox.config.json` : env;
    throw new SettingsError(`Each secret of ${where} ${SHORT_SECRET}`);
  }
}

const isPublicHost = ({ host }: Settings): boolean => !isLoopback(host);

/** The settings that make the hub public. */
const reasonsForPublic = (settings: Settings): string[] => [
  ...(settings.publicUrl === undefined ? [] : ["SIGNALBOX_PUBLIC_URL is set"]),
  ...(isPublicHost(settings) ? [`HOST is ${settings.host}`] : []),
];

const stepsToMakeLocal = (settings: Settings): string[] => [
  ...(settings.publicUrl === undefined ? [] : ["unset SIGNALBOX_PUBLIC_URL"]),
  ...(isPublicHost(settings) ? ["listen on 127.0.0.1 (HOST)"] : []),
];

const MIN_TOKEN_LENGTH = 16;

/**
 * Checks the length of the token that the hub will accept. A client's token is not checked: the hub
 * rejects a wrong one.
 */
export function assertAdminToken({ token, origins }: Settings): void {
  if (token === undefined || token.length >= MIN_TOKEN_LENGTH) return;
  const isFromFile = origins.some(({ name, from }) => name === "token" && from === "file");
  throw new SettingsError(
    `${isFromFile ? '"token" in signalbox.config.json' : "SIGNALBOX_TOKEN"} must have at least ${MIN_TOKEN_LENGTH} characters, since it is the admin token of the hub.`,
  );
}

/**
 * A local hub accepts unsigned webhooks if the operator allows them, or if it uses SQLite and has no
 * webhook secret. A public hub never accepts them.
 */
export const allowsUnsigned = (settings: Settings, storedSecretCount: number): boolean =>
  !settings.isPublic &&
  (settings.allowUnsigned ||
    (settings.databaseUrl.startsWith("sqlite:") && !hasSecret(settings, storedSecretCount)));

const hasSecret = (settings: Settings, storedSecretCount: number): boolean =>
  storedSecretCount > 0 || signedSources(settings).length > 0;

/** The sources that have a secret in the settings. */
export const signedSources = ({ secrets }: Settings): string[] =>
  Object.keys(secrets).filter((source) => (secrets[source]?.length ?? 0) > 0);

/**
 * Whether the hub has a public URL, but no header for the client's address. Behind a proxy, the IP
 * allowlist would then check the address of the proxy.
 */
export const lacksProxyHeader = (settings: Settings): boolean =>
  settings.publicUrl !== undefined &&
  settings.proxyHeader === undefined &&
  settings.githubIpAllowlist !== "off";
