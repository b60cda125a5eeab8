/** https://docs.github.com/webhooks: repository, organization and App webhooks. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { IngestOutcome } from "../../kernel/http/ingest-outcome.ts";
import { header, valueAt } from "../admit/extractor.ts";
import { hmacSha256 } from "../admit/signatures.ts";
import { defineSource, type Installation } from "../admit/source.ts";
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

/** Returns the state of the installation that the event reports. */
function installationState(body: JsonObject): Installation["about"] {
  const updatedAt = timeAt(body, "installation.updated_at");
  const suspendedAt = timeAt(body, "installation.suspended_at");
  return {
    version: Math.max(updatedAt, suspendedAt),
    change: CHANGES[String(body.action)] ?? null,
    suspended_at: suspendedAt || (body.action === "suspend" ? updatedAt : null),
  };
}

const CHANGES: Record<string, "removed" | "restored"> = {
  deleted: "removed",
  created: "restored",
  unsuspend: "restored",
};

/** The events that contain a whole installation; others contain only its id. */
const ABOUT_INSTALLATIONS = ["installation", "installation_repositories"];

/** The paths where payloads contain the account that owns the installation, in order of preference. */
const OWNERS = ["installation.account", "repository.owner", "organization"];

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
    const id = idAt(body, "installation.id");
    if (id === undefined) return undefined;
    const isRenamed = type === "installation_target";
    const owner = [...(isRenamed ? ["account"] : []), ...OWNERS].find(
      (path) => idAt(body, `${path}.id`) !== undefined,
    );
    if (owner === undefined) return { id };
    const account = {
      id: idAt(body, `${owner}.id`) as string,
      login: textAt(body, `${owner}.login`),
    };
    const about =
      ABOUT_INSTALLATIONS.includes(type) && owner === "installation.account"
        ? installationState(body)
        : undefined;
    const renamedAt = isRenamed ? timeAt(body, `${owner}.updated_at`) : 0;
    return { id, account, ...(about && { about }), ...(renamedAt > 0 && { renamedAt }) };
  },
  // The type is an unsigned header, so the body must also look like an installation event.
  skipsQuota: (type, body) =>
    ABOUT_INSTALLATIONS.includes(type) &&
    idAt(body, "installation.id") !== undefined &&
    idAt(body, "installation.account.id") !== undefined,
  summarize: summarizeGithub,
  sample: githubSample,
});
