/** Checks the GitHub App for `doctor`: its credentials, its webhook URL, and failed webhooks. */

import { type HubClient, HubRequestFailed } from "@signalbox/cli/src/index.ts";
import { createGithubApp } from "../../github/github-app.ts";
import { githubSettings } from "../../github-settings.ts";
import type { RedeliverySweep } from "../../redelivery/model.ts";
import type { Settings } from "../../settings.ts";
import type { Store } from "../../store.ts";
import type { Finding } from "./doctor-findings.ts";

const CREDENTIALS_FIX =
  "check GITHUB_APP_ID, GITHUB_APP_PRIVATE_KEY and GITHUB_API_URL; the page of the App shows its id, and generates keys";

/**
 * Checks the credentials and the webhook URL of the App. Returns no findings if the settings have no
 * credentials of an App. `webhookUrl` is the hub's endpoint for GitHub; undefined without a public URL.
 */
export async function checkGithubApp(
  settings: Settings,
  webhookUrl: string | undefined,
): Promise<Finding[]> {
  const { app: credentials, apiUrl } = tryReadSettings(settings) ?? {};
  if (!credentials || apiUrl === undefined) return [];
  const check = "github app";
  const options = { apiUrl, fetch, now: Date.now };
  const app = await createGithubApp(credentials, options).catch((error: Error) => error);
  if (app instanceof Error) return [{ check, state: "problem", says: app.message }];
  const response = await app.getApp();
  if (response.outcome !== "ok") {
    const says = response.outcome === "not_found" ? "GitHub returned 404" : response.message;
    const isProblem = response.outcome === "not_found" || response.outcome === "failed";
    return [{ check, state: isProblem ? "problem" : "warning", says, fix: CREDENTIALS_FIX }];
  }
  const credentialsFinding: Finding = {
    check,
    state: "ok",
    says: `GitHub accepts the id and the key of the App ${response.value.name}`,
  };
  const hook = await app.getWebhookUrl();
  if (hook.outcome !== "ok" || webhookUrl === undefined || hook.value === webhookUrl)
    return [credentialsFinding];
  return [
    credentialsFinding,
    {
      check,
      state: "warning",
      says:
        hook.value === ""
          ? "the App has no webhook URL"
          : `the App sends its webhooks to ${hook.value}`,
      fix: `set the webhook URL of the App to ${webhookUrl}, unless the App uses an endpoint with a key, or another hub`,
    },
  ];
}

/** Returns undefined if the settings are invalid, which `doctor` reports in the check "settings". */
function tryReadSettings(settings: Settings) {
  try {
    return githubSettings(settings);
  } catch {
    return undefined;
  }
}

type Counts = Awaited<ReturnType<Store["countRedeliveries"]>>;

/** Returns undefined before the hub has checked for failed webhooks for the first time. */
export function describeRedelivery(
  sweep: Pick<RedeliverySweep, "completed_at" | "error"> | undefined,
  { open, given_up, delivered }: Counts,
  now: number,
): Finding | undefined {
  if (!sweep) return undefined;
  const check = "redelivery";
  if (sweep.error !== null)
    return {
      check,
      state: "problem",
      says: `failed webhooks cannot be checked: ${sweep.error}`,
      fix: "correct the cause; the hub then retries automatically",
    };
  const minutes = Math.round((now - (sweep.completed_at ?? now)) / 60_000);
  const says = [
    sweep.completed_at === null
      ? "the first check for failed webhooks has not finished"
      : `failed webhooks were checked ${minutes} min ago`,
    `${open} open, ${delivered} redelivered, ${given_up} given up`,
  ].join("; ");
  if (given_up === 0) return { check, state: "ok", says };
  return {
    check,
    state: "warning",
    says,
    fix: "see Sources in the web UI, or Advanced → Recent Deliveries on the page of the App",
  };
}

/**
 * Reports the redelivery of a hub on another machine, as its API returns it. Returns no findings if the hub
 * does not respond, which another check reports.
 */
export async function checkRemoteRedelivery(hub: HubClient): Promise<Finding[]> {
  const check = "redelivery";
  try {
    const signal = AbortSignal.timeout(10_000);
    const { is_enabled, sweep, counts } = await hub.get("/api/github/redeliveries", { signal });
    if (!is_enabled) return [{ check, state: "ok", says: REDELIVERY_OFF }];
    const completedAt = sweep?.completed_at ?? null;
    const lastSweep = {
      completed_at: completedAt === null ? null : Date.parse(completedAt),
      error: sweep?.error ?? null,
    };
    const finding = describeRedelivery(lastSweep, counts, Date.now());
    return finding === undefined ? [] : [finding];
  } catch (error) {
    const isHubError = error instanceof HubRequestFailed;
    if (isHubError && error.status === undefined) return [];
    const says = `not checked: ${error instanceof Error ? error.message : error}`;
    const fix = "set SIGNALBOX_TOKEN to an admin token of the hub that is valid for all tenants";
    return [{ check, state: "warning", says, ...(isHubError && { fix }) }];
  }
}

const REDELIVERY_OFF =
  "off: GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY of the hub are not set, or GITHUB_REDELIVERY is off";
