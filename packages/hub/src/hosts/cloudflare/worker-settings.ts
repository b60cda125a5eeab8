/** Reads the settings of a Worker from its variables and secrets. Their names are those of the Node host. */

import { effectiveSettings } from "../../effective-settings.ts";
import { githubSettings } from "../../github-settings.ts";
import type { HubSettings } from "../../host-ports.ts";
import { assertSafe, hubSettings, signedSources } from "../../hub-settings.ts";
import { parseKeys } from "../../kernel/lib/seal.ts";
import { SettingsError } from "../../kernel/settings.ts";
import { readSettings, type Settings } from "../../settings.ts";
import { version } from "../version.ts";
import { type Bindings, bindingNames } from "./bindings.ts";

/** An object has 128 MB of memory for request bodies and everything else. */
const BODY_BUDGET_BYTES = 48 * 1024 * 1024;
/** Each sweep wakes the object, so sweeps are less frequent than on the Node host. */
const SWEEP_EVERY_MS = 60 * 60 * 1000;

const cache = new WeakMap<object, Settings>();

/** Throws if a setting is invalid, or if a binding or a setting that every Worker needs is missing. */
export function readWorkerSettings(env: object): Settings {
  const settings = cache.get(env) ?? parseSettings(env);
  cache.set(env, settings);
  return settings;
}

function parseSettings(env: object): Settings {
  const variables = Object.fromEntries(
    Object.entries(env).filter(([, value]) => typeof value === "string"),
  );
  const settings = readSettings({ flags: {}, env: variables, file: {} });
  const missing = [
    ...bindingNames
      .filter((name) => (env as Partial<Bindings>)[name] === undefined)
      .map((name) => `the binding ${name} (see packages/hub/wrangler.jsonc)`),
    settings.publicUrl === undefined && "SIGNALBOX_PUBLIC_URL, the URL of this Worker",
    settings.key === undefined &&
      "SIGNALBOX_KEY, which encrypts stored secrets: openssl rand -base64 32 | tee /dev/stderr | npx wrangler secret put SIGNALBOX_KEY --env production",
    settings.token === undefined && "SIGNALBOX_TOKEN, the operator's token",
    signedSources(settings).length === 0 &&
      "GITHUB_WEBHOOK_SECRET or the secret of another source, without which the hub cannot tell a real webhook from a forged one: npx wrangler secret put GITHUB_WEBHOOK_SECRET --env production",
  ].filter((line) => line !== false);
  if (missing.length > 0) throw new SettingsError(`This Worker needs ${missing.join("; ")}.`);
  // The hub is public, since it has a public URL, so this rejects settings that accept unsigned webhooks.
  assertSafe(settings, 0);
  // Throws if the GitHub settings are incomplete.
  githubSettings(settings);
  return settings;
}

export function workerHubSettings(
  settings: Settings,
  { tenant, hasRegistry }: { tenant: string | undefined; hasRegistry: boolean },
): HubSettings {
  const [sealKey, ...formerSealKeys] = parseKeys(settings.key ?? "") ?? [new Uint8Array()];
  return {
    // A public hub accepts no unsigned webhook, so stored secrets do not matter.
    ...hubSettings(settings, 0),
    version,
    callbackTenant: tenant,
    hasRegistry,
    effectiveSettings: effectiveSettings(settings.origins),
    // The Worker passes the address that Cloudflare reports.
    proxy: undefined,
    sealKey,
    formerSealKeys,
    bodyBudgetBytes: BODY_BUDGET_BYTES,
    sweepEveryMs: SWEEP_EVERY_MS,
  };
}
