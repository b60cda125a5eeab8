/** https://docs.github.com/webhooks: repository, organisation and App webhooks. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import { header, valueAt } from "../extractor.ts";
import type { IngestOutcome } from "../ingest-outcome.ts";
import { hmacSha256 } from "../signatures.ts";
import { defineSource, type Installation } from "../source.ts";
import { githubSample } from "./github-sample.ts";
import { summarizeGithub } from "./github-summary.ts";

const idAt = (body: JsonObject, path: string) => {
  const value = valueAt(body, path);
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0
    ? String(value)
    : undefined;
};
const textAt = (body: JsonObject, path: string) => {
  const value = valueAt(body, path);
  return typeof value === "string" ? value : null;
};

/** GitHub formats the times of an installation as ISO 8601 or as Unix seconds. */
function timeAt(body: JsonObject, path: string): number {
  const value = valueAt(body, path);
  const time =
    typeof value === "number" ? value * 1000 : Date.parse(typeof value === "string" ? value : "");
  return Number.isSafeInteger(time) && time > 0 ? time : 0;
}

/** The change of an installation that the event reports. */
const installationChange = (body: JsonObject): Installation["about"] => ({
  version: timeAt(body, "installation.updated_at"),
  change:
    body.action === "deleted"
      ? "removed"
      : body.action === "created" || body.action === "unsuspend"
        ? "restored"
        : null,
});

export const github = defineSource({
  id: "github",
  title: "GitHub",
  secret: {
    issuedBy: "you",
    setup:
      "Repository, organization or GitHub App → Settings → Webhooks → Add webhook: paste the URL as Payload URL and the secret as Secret, and choose the content type application/json.",
  },
  maxBytes: 25 * 1024 * 1024, // GitHub's own limit
  signature: hmacSha256({ header: "X-Hub-Signature-256", prefix: "sha256=" }),
  accepts: ["application/json", "application/x-www-form-urlencoded"],
  requiresFormPayload: true,
  headers: ["x-github-event", "x-github-delivery", "x-github-hook-id"],
  githubAddressesOnly: true,
  externalId: header("X-GitHub-Delivery"),
  eventType: header("X-GitHub-Event"),
  control: (request): IngestOutcome | undefined =>
    request.header("x-github-event") === "ping" ? { outcome: "pong" } : undefined,
  installation(type, body) {
    const about = type === "installation" ? installationChange(body) : undefined;
    const id = idAt(body, "installation.id");
    if (id === undefined) return undefined;
    // An installation belongs to the account that owns the event's repository. Events about
    // installations name the account directly. The signature covers all of these fields.
    const owner =
      ["installation.account", "repository.owner", "organization"].find(
        (path) => idAt(body, `${path}.id`) !== undefined,
      ) ?? "";
    const account = idAt(body, `${owner}.id`);
    if (account === undefined) return { id };
    return {
      id,
      account: { id: account, login: textAt(body, `${owner}.login`) },
      ...(about && owner === "installation.account" ? { about } : {}),
    };
  },
  // The type is an unsigned header, so the body must also look like an installation event.
  skipsQuota: (type, body) =>
    (type === "installation" || type === "installation_repositories") &&
    idAt(body, "installation.id") !== undefined &&
    idAt(body, "installation.account.id") !== undefined,
  summarize: summarizeGithub,
  sample: githubSample,
});
