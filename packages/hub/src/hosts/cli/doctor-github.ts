/** What `doctor` reports about the GitHub App: its credentials, its webhook, and failed webhooks. */
import type { z } from "zod";
import type { redeliveriesView } from "../../api/redelivery-routes.ts";
import type { RedeliveryStore, RedeliverySweep } from "../../store/redelivery-store.ts";
import { createGithubApp } from "../../tenants/github-app.ts";
import { githubSettings } from "../github-settings.ts";
import type { Settings } from "../settings.ts";
import type { Finding } from "./doctor-findings.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";

const CREDENTIALS_FIX =
  "check GITHUB_APP_ID, GITHUB_APP_PRIVATE_KEY and GITHUB_API_URL; the page of the App shows its id, and generates keys";

/** Empty without the credentials of an App. `webhookUrl`: the hub's endpoint for GitHub, if it is public. */
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
  const answer = await app.getApp();
  if (answer.outcome !== "ok") {
    const says = answer.outcome === "not_found" ? "GitHub returned 404" : answer.message;
    const isProblem = answer.outcome === "not_found" || answer.outcome === "failed";
    return [{ check, state: isProblem ? "problem" : "warning", says, fix: CREDENTIALS_FIX }];
  }
  const found: Finding = {
    check,
    state: "ok",
    says: `GitHub knows id and key: ${answer.value.name}`,
  };
  const hook = await app.getWebhookUrl();
  if (hook.outcome !== "ok" || webhookUrl === undefined || hook.value === webhookUrl)
    return [found];
  return [
    found,
    {
      check,
      state: "warning",
      says:
        hook.value === ""
          ? "the App has no webhook URL"
          : `the App sends its webhooks to ${hook.value}`,
      fix: `set the webhook URL of the App to ${webhookUrl}, unless it has an endpoint with a key or another hub`,
    },
  ];
}

/** Undefined if they are wrong, which doctor has reported. */
function tryReadSettings(settings: Settings) {
  try {
    return githubSettings(settings);
  } catch {
    return undefined;
  }
}

type Counts = Awaited<ReturnType<RedeliveryStore["countRedeliveries"]>>;

/** Undefined before the first check for failed webhooks. */
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
      fix: "correct it; the hub tries again",
    };
  const minutes = Math.round((now - (sweep.completed_at ?? now)) / 60_000);
  const says = [
    sweep.completed_at === null
      ? "the first check has not ended"
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

/** The same for a hub on another machine, by its API. Empty if the hub does not respond. */
export async function checkRemoteRedelivery(hub: HubClient): Promise<Finding[]> {
  const check = "redelivery";
  try {
    const signal = AbortSignal.timeout(10_000);
    const path = "/api/github/redeliveries";
    const view = await hub.request<z.infer<typeof redeliveriesView>>("GET", path, { signal });
    const { is_enabled, sweep, counts } = view;
    if (!is_enabled) return [{ check, state: "ok", says: REDELIVERY_OFF }];
    const at = sweep?.completed_at ?? null;
    const last = { completed_at: at === null ? null : Date.parse(at), error: sweep?.error ?? null };
    return [describeRedelivery(last, counts, Date.now())].filter((one) => one !== undefined);
  } catch (error) {
    const isAnswer = error instanceof HubRequestFailed;
    if (isAnswer && error.status === undefined) return [];
    const says = `not checked: ${error instanceof Error ? error.message : error}`;
    const fix = "set SIGNALBOX_TOKEN to the admin token of the hub, which is for all tenants";
    return [{ check, state: "warning", says, ...(isAnswer && { fix }) }];
  }
}

const REDELIVERY_OFF =
  "off: the hub has no GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY, or GITHUB_REDELIVERY is off";
