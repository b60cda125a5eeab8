/** https://docs.github.com/webhooks: repository, organization and App webhooks. */
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import type { IngestOutcome } from "../../kernel/http/ingest-outcome.ts";
import { hmacSha256 } from "../admit/signatures.ts";
import { defineSource, header, type Installation, valueAt } from "../admit/source.ts";
import type { Summary } from "../model.ts";
import { githubSample } from "./github-sample.ts";
import {
  firstFound,
  firstLine,
  isWebUrl,
  joined,
  pickFirst,
  pickNumber,
  pickText,
  shortRef,
  type TextPicker,
} from "./summary.ts";

// The pages to which a summary links. Many payloads contain only addresses of the API.

/** The API of github.com, of GitHub Enterprise Cloud on ghe.com, and of GitHub Enterprise Server. */
const API = /^https?:\/\/(?:api\.github\.com|api\.[a-z\d-]+\.ghe\.com|[^/]+\/api\/v3)(?:[/:?#]|$)/i;

const isPage = (value: Json | undefined): value is string => isWebUrl(value) && !API.test(value);

/** The first http(s) URL that is not an address of GitHub's API. */
const pickPage = (body: JsonObject, ...pickers: readonly TextPicker[]): string | null =>
  pickFirst(body, pickers, isPage);

/**
 * Returns a page of the repository, such as `commit/{check_suite.head_sha}`. Each path in braces is
 * replaced by that field of the payload; without the field there is no page.
 */
const repositoryPage = (template: string): TextPicker =>
  page((body) => pickPage(body, "repository.html_url"), template);

/** Returns a page outside the repository, on the same GitHub server as the sender's page. */
const serverPage = (template: string): TextPicker =>
  page(
    (body) => /^https?:\/\/[^/]+/i.exec(pickPage(body, "sender.html_url") ?? "")?.[0] ?? null,
    template,
  );

const page =
  (base: (body: JsonObject) => string | null, template: string): TextPicker =>
  (body) => {
    let isComplete = true;
    const path = template.replace(/\{([\w.]+)\}/g, (_, field: string) => {
      const text = pickText(body, field);
      isComplete &&= text !== null;
      return encodeURIComponent((text ?? "").toWellFormed());
    });
    const baseUrl = base(body);
    return isComplete && baseUrl !== null ? `${baseUrl}/${path}` : null;
  };

// The subject of each event type. Payloads have no common shape, so a table lists the paths of the subject;
// that of an unlisted type is expected in the field of the same name.

interface Subject {
  number?: readonly string[];
  title: readonly TextPicker[];
  url: readonly TextPicker[];
  /** The object with the conclusion and the commit of a check or a workflow. */
  result?: string;
}

/**
 * An object with its own page. If `url` is the object's API address, as in most payloads, it is not
 * picked.
 */
const entity = (path: string): Subject => ({
  number: [`${path}.number`],
  title: [`${path}.title`, `${path}.name`],
  url: [`${path}.html_url`, `${path}.url`],
});

/** A comment, with the number and title of the commented object and a link to the comment. */
const comment = (commented: string, ...urls: string[]): Subject => ({
  ...entity(commented),
  url: [...urls, `${commented}.html_url`],
});

/** A workflow or check. The title contains its conclusion, or its status while it runs. */
const execution = (path: string, number: string, ...names: TextPicker[]): Subject => ({
  result: path,
  number: [number],
  title: [
    joined(
      ": ",
      firstFound(...names, `${path}.name`),
      firstFound(`${path}.conclusion`, `${path}.status`),
    ),
  ],
  url: entity(path).url,
});

const person = (path: string): Subject => ({ title: [`${path}.login`], url: [`${path}.html_url`] });

const repositorySubject: Subject = {
  title: ["repository.full_name"],
  url: ["repository.html_url"],
};

const ref: Subject = { title: [joined(" ", "ref_type", "ref")], url: [] };

const packageVersion = (path: string): Subject => ({
  title: [joined(" ", `${path}.name`, `${path}.package_version.version`)],
  url: [`${path}.package_version.html_url`, `${path}.html_url`],
});

/** The pages of a deployment, or else the repository's list of deployments. */
const deploymentUrls = (...paths: string[]): TextPicker[] => [
  ...["target_url", "log_url", "environment_url"].flatMap((name) =>
    paths.map((path) => `${path}.${name}`),
  ),
  repositoryPage("deployments"),
];

const labelsPage = repositoryPage("labels");

const subjects: Record<string, Subject> = {
  branch_protection_rule: entity("rule"),
  check_run: execution("check_run", "check_run.pull_requests.0.number"),
  check_suite: {
    ...execution("check_suite", "check_suite.pull_requests.0.number", "check_suite.app.name"),
    url: [repositoryPage("commit/{check_suite.head_sha}/checks")],
  },
  code_scanning_alert: {
    ...entity("alert"),
    title: ["alert.rule.description", "alert.rule.name", "alert.rule.id"],
  },
  commit_comment: { title: [firstLine("comment.body")], url: ["comment.html_url"] },
  create: ref,
  custom_property: { title: ["definition.property_name"], url: [] },
  delete: ref,
  dependabot_alert: {
    ...entity("alert"),
    title: ["alert.security_advisory.summary", "alert.dependency.package.name"],
  },
  deploy_key: { ...entity("key"), url: [repositoryPage("settings/keys")] },
  deployment: {
    title: [joined(": ", "deployment.environment", shortRef("deployment.ref"))],
    url: ["workflow_run.html_url", ...deploymentUrls("deployment")],
  },
  deployment_protection_rule: {
    title: [joined(": ", "environment", shortRef("deployment.ref"))],
    url: deploymentUrls("deployment"),
  },
  deployment_review: {
    number: ["workflow_run.run_number"],
    title: [
      joined(": ", "environment", firstFound("workflow_run.display_title", "workflow_run.name")),
    ],
    url: ["workflow_job_run.html_url", "workflow_run.html_url"],
  },
  deployment_status: {
    title: [
      joined(
        ": ",
        firstFound("deployment_status.environment", "deployment.environment"),
        "deployment_status.state",
      ),
    ],
    url: deploymentUrls("deployment_status", "deployment"),
  },
  discussion: entity("discussion"),
  discussion_comment: comment("discussion", "comment.html_url"),
  fork: { title: ["forkee.full_name"], url: ["forkee.html_url"] },
  github_app_authorization: { title: [], url: [] },
  gollum: { title: ["pages.0.title", "pages.0.page_name"], url: ["pages.0.html_url"] },
  installation: { title: ["installation.account.login"], url: ["installation.html_url"] },
  installation_repositories: {
    title: [
      "repositories_added.0.full_name",
      "repositories_removed.0.full_name",
      "installation.account.login",
    ],
    url: ["installation.html_url"],
  },
  installation_target: person("account"),
  issue_comment: comment("issue", "comment.html_url"),
  issues: entity("issue"),
  label: {
    ...entity("label"),
    url: [
      (body) => (body.action === "deleted" ? pickText(body, labelsPage) : null),
      repositoryPage("labels/{label.name}"),
    ],
  },
  marketplace_purchase: {
    title: [joined(": ", "marketplace_purchase.account.login", "marketplace_purchase.plan.name")],
    url: [],
  },
  member: person("member"),
  membership: {
    title: [joined(": ", firstFound("team.name", "team.slug"), "member.login")],
    url: ["team.html_url", "member.html_url"],
  },
  merge_group: {
    title: [
      joined(
        ": ",
        shortRef("merge_group.base_ref"),
        firstFound(firstLine("merge_group.head_commit.message"), shortRef("merge_group.head_ref")),
      ),
    ],
    url: [],
  },
  meta: { title: ["hook.name"], url: [] }, // not the hook's URL, which may contain a key
  milestone: entity("milestone"),
  org_block: person("blocked_user"),
  organization: {
    title: ["membership.user.login", "user.login", "invitation.login", "organization.login"],
    url: [
      "membership.user.html_url",
      "user.html_url",
      "organization.html_url",
      serverPage("{organization.login}"),
    ],
  },
  package: packageVersion("package"),
  page_build: {
    title: [joined(": ", "build.status", "build.error.message")],
    url: ["build.html_url", repositoryPage("commit/{build.commit}")],
  },
  ping: { title: ["zen"], url: [] },
  project: entity("project"),
  project_card: { title: [firstLine("project_card.note")], url: entity("project_card").url },
  project_column: entity("project_column"),
  projects_v2: entity("projects_v2"),
  projects_v2_item: {
    title: ["projects_v2_item.content_type"],
    url: entity("projects_v2_item").url,
  },
  public: repositorySubject,
  pull_request: entity("pull_request"),
  pull_request_review: comment("pull_request", "review.html_url"),
  pull_request_review_comment: comment("pull_request", "comment.html_url"),
  pull_request_review_thread: comment("pull_request", "thread.comments.0.html_url"),
  push: {
    title: [
      joined(
        ": ",
        joined(" ", shortRef("ref"), shortSha("head_commit.id")),
        firstFound(firstLine("head_commit.message"), (body) =>
          body.deleted === true ? "deleted" : null,
        ),
      ),
    ],
    url: ["compare", "head_commit.url"],
  },
  registry_package: packageVersion("registry_package"),
  release: {
    title: ["release.name", "release.tag_name"],
    url: entity("release").url,
  },
  repository: repositorySubject,
  repository_advisory: {
    title: ["repository_advisory.summary"],
    url: entity("repository_advisory").url,
  },
  repository_dispatch: { title: [joined(": ", shortRef("branch"), "action")], url: [] },
  repository_import: { title: [joined(": ", "repository.full_name", "status")], url: [] },
  repository_vulnerability_alert: {
    number: ["alert.number"],
    title: [
      joined(
        ": ",
        "alert.affected_package_name",
        firstFound("alert.external_identifier", "alert.ghsa_id"),
      ),
    ],
    url: ["alert.html_url", "alert.external_reference"],
  },
  secret_scanning_alert: {
    ...entity("alert"),
    title: ["alert.secret_type_display_name", "alert.secret_type"],
  },
  secret_scanning_alert_location: {
    ...entity("alert"),
    title: ["alert.secret_type_display_name", "alert.secret_type"],
  },
  security_advisory: {
    title: ["security_advisory.summary", "security_advisory.ghsa_id"],
    url: ["security_advisory.html_url", "security_advisory.references.0.url"],
  },
  sponsorship: {
    title: [joined(": ", "sponsorship.sponsor.login", "sponsorship.tier.name")],
    url: ["sponsorship.sponsorable.html_url", "sponsorship.sponsor.html_url"],
  },
  star: repositorySubject,
  status: {
    title: [joined(": ", "context", "state")],
    url: ["commit.html_url", "target_url"],
  },
  sub_issues: entity("sub_issue"),
  team: entity("team"),
  team_add: entity("team"),
  watch: repositorySubject,
  workflow_dispatch: { title: [joined(": ", shortRef("ref"), "workflow")], url: [] },
  workflow_job: execution(
    "workflow_job",
    "workflow_job.run_number",
    joined(" / ", "workflow_job.workflow_name", "workflow_job.name"),
  ),
  workflow_run: {
    ...execution("workflow_run", "workflow_run.run_number"),
    title: ["workflow.name", "workflow_run.name", firstLine("workflow_run.display_title")],
  },
};

/** Fields in which payloads of unlisted types often have their subject, most specific first. */
const commonFields = ["issue", "pull_request", "discussion", "release", "alert"];

function subjectOf(type: string, body: JsonObject): Subject {
  if (Object.hasOwn(subjects, type)) return subjects[type] as Subject;
  return entity([type, ...commonFields].find((name) => isObject(body[name])) ?? type);
}

export function summarizeGithub(type: string, body: JsonObject): Partial<Summary> {
  const { number = [], title, url, result } = subjectOf(type, body);
  const summary: Partial<Summary> = {
    action: pickText(body, "action", "pages.0.action"),
    repo: pickText(body, "repository.full_name"),
    sender: pickText(body, "sender.login", "pusher.name"),
    number: pickNumber(body, ...number),
    title: pickText(body, ...title),
    url: pickPage(body, ...url, "repository.html_url"),
  };
  if (result)
    summary.check_result = {
      conclusion: pickText(body, `${result}.conclusion`),
      head_branch: pickText(body, `${result}.head_branch`, `${result}.check_suite.head_branch`),
      head_sha: pickText(body, `${result}.head_sha`),
    };
  return summary;
}

function shortSha(path: string): TextPicker {
  return (body) => pickText(body, path)?.slice(0, 7) ?? null;
}

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

/** The event types that GitHub documents for webhooks, without `ping`, which is never stored. */
// biome-ignore format: a list
export const githubTypes: readonly string[] = [
  "branch_protection_configuration", "branch_protection_rule", "check_run", "check_suite",
  "code_scanning_alert", "commit_comment", "create", "custom_property", "custom_property_values",
  "delete", "dependabot_alert", "deploy_key", "deployment", "deployment_protection_rule",
  "deployment_review", "deployment_status", "discussion", "discussion_comment", "fork",
  "github_app_authorization", "gollum", "installation", "installation_repositories",
  "installation_target", "issue_comment", "issue_dependencies", "issues", "label",
  "marketplace_purchase", "member", "membership", "merge_group", "meta", "milestone", "org_block",
  "organization", "package", "page_build", "personal_access_token_request", "project",
  "project_card", "project_column", "projects_v2", "projects_v2_item", "projects_v2_status_update",
  "public", "pull_request", "pull_request_review", "pull_request_review_comment",
  "pull_request_review_thread", "push", "registry_package", "release", "repository",
  "repository_advisory", "repository_dispatch", "repository_import", "repository_ruleset",
  "repository_vulnerability_alert", "secret_scanning_alert", "secret_scanning_alert_location",
  "secret_scanning_scan", "security_advisory", "security_and_analysis", "sponsorship", "star",
  "status", "sub_issues", "team", "team_add", "watch", "workflow_dispatch", "workflow_job",
  "workflow_run",
];
