/**
 * The responses to webhooks that belong to no tenant, in the mode with one tenant per GitHub
 * account.
 */
import { type Rejection, rejection } from "../../kernel/http/ingest-outcome.ts";
import type { NoTenant } from "./source.ts";

const KEY_HINT =
  "To receive webhooks of a repository without the App, send them to an endpoint with a key: `npx signalbox source add github --tenant ACCOUNT_ID` creates one.";

const rejections: Record<NoTenant, Rejection> = {
  none: rejection(
    "unknown_tenant",
    `The payload names no installation of the GitHub App, so the hub does not know whose event it is. Set the URL as the webhook URL of the App. ${KEY_HINT}`,
  ),
  unknown: rejection(
    "unknown_tenant",
    `The payload names an installation that this hub does not know. Install the GitHub App, or redeliver the App's event \`installation\`; with GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY the hub looks up installations itself. ${KEY_HINT}`,
  ),
  removed: rejection(
    "unknown_tenant",
    "The installation was removed. Install the GitHub App again to receive its events.",
  ),
  suspended: rejection(
    "installation_suspended",
    "The account has suspended the GitHub App. After it is unsuspended, GitHub can redeliver this webhook.",
  ),
  unavailable: rejection(
    "github_unavailable",
    "The installation is unknown, and GitHub did not answer the hub's request for it. Redeliver the webhook later.",
    { retryAfter: 30 },
  ),
};

export const rejectWithoutTenant = (reason: NoTenant): Rejection => rejections[reason];
