/** https://docs.github.com/webhooks: repository, organisation and App webhooks. */
import type { Outcome } from "../outcome.ts";
import { githubKeys } from "../scan/github-keys.ts";
import { hmacSha256 } from "../signatures.ts";
import { at, defineSource, header, type JsonObject } from "../source.ts";
import { githubSample } from "./github-sample.ts";
import { summarizeGithub } from "./github-summary.ts";

const idAt = (body: JsonObject, path: string) => {
  const value = at(body, path);
  return typeof value === "number" ? String(value) : undefined;
};
const textAt = (body: JsonObject, path: string) => {
  const value = at(body, path);
  return typeof value === "string" ? value : null;
};

export const github = defineSource({
  id: "github",
  title: "GitHub",
  maxBytes: 25 * 1024 * 1024, // GitHub's own limit
  signature: hmacSha256({ header: "X-Hub-Signature-256", prefix: "sha256=" }),
  accepts: ["application/json", "application/x-www-form-urlencoded"],
  headers: ["x-github-event", "x-github-delivery", "x-github-hook-id"],
  githubAddressesOnly: true,
  keys: githubKeys,
  externalId: header("X-GitHub-Delivery"),
  eventType: header("X-GitHub-Event"),
  control: (request): Outcome | undefined =>
    request.header("x-github-event") === "ping" ? { outcome: "pong" } : undefined,
  installation(type, body) {
    const id = idAt(body, "installation.id");
    if (id === undefined) return undefined;
    // An installation belongs to the account that owns the repository it reports on. Only
    // `installation` events name the account itself; the signature vouches for either.
    const owner =
      ["installation.account", "repository.owner", "organization"].find(
        (path) => idAt(body, `${path}.id`) !== undefined,
      ) ?? "";
    const account = idAt(body, `${owner}.id`);
    return {
      id,
      ...(account ? { account: { id: account, login: textAt(body, `${owner}.login`) } } : {}),
      ...(type === "installation" && body.action === "deleted"
        ? { change: "removed" as const }
        : {}),
    };
  },
  skipsQuota: (type) => type === "installation" || type === "installation_repositories",
  summarize: summarizeGithub,
  sample: githubSample,
});
