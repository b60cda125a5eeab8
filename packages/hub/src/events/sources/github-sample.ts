/** Small webhooks in GitHub's format, for `signalbox send` and tests. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Sample, SampleVariant } from "../admit/source.ts";

const page = "https://github.com/octocat/hello-world";
const sha = "1f0c3a7be2d94c56a80d7f31b6e5c2940a8d17e3";
const octocat = {
  login: "octocat",
  id: 583231,
  type: "User",
  html_url: "https://github.com/octocat",
};
const app = { id: 15368, slug: "github-actions", name: "GitHub Actions" };
const bug = { id: 208045946, name: "bug", color: "d73a4a", description: "Something isn't working" };

const issue = {
  id: 2101,
  number: 7,
  title: "The lamp stays red after the train has passed",
  body: "Expected green within two seconds. Happens on track 3 only.",
  state: "open",
  html_url: `${page}/issues/7`,
  user: octocat,
  labels: [bug],
  assignees: [],
  comments: 0,
};

const pullRequest = {
  id: 3308,
  number: 8,
  title: "Turn the lamp green again",
  body: "Fixes #7.",
  state: "open",
  draft: false,
  merged: false,
  html_url: `${page}/pull/8`,
  user: octocat,
  labels: [],
  head: { ref: "green-lamp", sha },
  base: { ref: "main", sha: "9b2d6f04c71e8a35d0f9be6a2c4871530e6fda12" },
};

interface SampleType {
  /** The default action; undefined if the type has no actions. */
  action?: string;
  body(action: string): JsonObject;
}

const sampleTypes: Record<string, SampleType> = {
  issues: {
    action: "opened",
    body: (action) => ({
      issue: { ...issue, state: action === "closed" ? "closed" : "open" },
      ...(/label/.test(action) ? { label: bug } : {}),
      ...(/assign/.test(action) ? { assignee: octocat } : {}),
      ...(action === "edited" ? { changes: { title: { from: "The lamp stays red" } } } : {}),
    }),
  },
  issue_comment: {
    action: "created",
    body: () => ({
      issue: { ...issue, comments: 1 },
      comment: {
        id: 5501,
        body: "I can reproduce this.",
        html_url: `${page}/issues/7#issuecomment-5501`,
        user: octocat,
      },
    }),
  },
  pull_request: {
    action: "opened",
    body: (action) => ({
      number: pullRequest.number,
      pull_request: {
        ...pullRequest,
        state: action === "closed" ? "closed" : "open",
        merged: action === "closed",
      },
      ...(/label/.test(action) ? { label: bug } : {}),
      ...(action === "synchronize" ? { before: pullRequest.base.sha, after: sha } : {}),
    }),
  },
  pull_request_review: {
    action: "submitted",
    body: () => ({
      pull_request: pullRequest,
      review: {
        id: 9010,
        state: "approved",
        body: "Works on track 3.",
        html_url: `${page}/pull/8#pullrequestreview-9010`,
        user: octocat,
      },
    }),
  },
  push: {
    body: () => ({
      ref: "refs/heads/main",
      before: pullRequest.base.sha,
      after: sha,
      created: false,
      deleted: false,
      forced: false,
      compare: `${page}/compare/9b2d6f04c71e...1f0c3a7be2d9`,
      commits: [commit],
      head_commit: commit,
      pusher: { name: "octocat", email: "octocat@users.noreply.github.com" },
    }),
  },
  release: {
    action: "published",
    body: () => ({
      release: {
        id: 1204,
        tag_name: "v1.2.0",
        name: "Lamps of all colours",
        body: "Green works again.",
        draft: false,
        prerelease: false,
        html_url: `${page}/releases/tag/v1.2.0`,
        author: octocat,
      },
    }),
  },
  workflow_run: {
    action: "completed",
    body: (action) => ({
      workflow: { id: 4001, name: "Tests", path: ".github/workflows/tests.yml" },
      workflow_run: {
        id: 70012,
        name: "Tests",
        display_title: pullRequest.title,
        run_number: 42,
        run_attempt: 1,
        event: "pull_request",
        ...progress(action, "failure"),
        head_branch: "green-lamp",
        head_sha: sha,
        html_url: `${page}/actions/runs/70012`,
        pull_requests: [{ number: pullRequest.number }],
      },
    }),
  },
  check_run: {
    action: "completed",
    body: (action) => ({
      check_run: {
        id: 80013,
        name: "unit tests",
        ...progress(action, "success"),
        head_sha: sha,
        html_url: `${page}/runs/80013`,
        app,
        pull_requests: [{ number: pullRequest.number }],
      },
    }),
  },
  discussion: {
    action: "created",
    body: () => ({
      discussion: {
        id: 6006,
        number: 9,
        title: "Which colours should a lamp have?",
        body: "Red and green are a start.",
        state: "open",
        html_url: `${page}/discussions/9`,
        user: octocat,
        category: { name: "Ideas", slug: "ideas" },
      },
    }),
  },
  star: {
    action: "created",
    body: (action) => ({ starred_at: action === "deleted" ? null : "2026-01-05T09:30:00Z" }),
  },
  ping: {
    body: () => ({
      zen: "Keep it logically awesome.",
      hook_id: 90014,
      hook: { type: "Repository", id: 90014, name: "web", active: true, events: ["*"] },
    }),
  },
  installation: {
    action: "created",
    body: () => ({
      installation: {
        id: 31415,
        account: octocat,
        repository_selection: "selected",
        html_url: "https://github.com/settings/installations/31415",
        app_slug: "signalbox",
      },
      repositories: [{ id: 1296269, name: "hello-world", full_name: "octocat/hello-world" }],
      repository: null, // `githubSample` omits the field, as GitHub does for this type
    }),
  },
};

const commit = {
  id: sha,
  message: "Turn the lamp green again\n\nThe relay was never released.",
  timestamp: "2026-01-05T09:30:00Z",
  url: `${page}/commit/${sha}`,
  author: { name: "Mona", email: "octocat@users.noreply.github.com", username: "octocat" },
  added: [],
  removed: [],
  modified: ["src/lamp.ts"],
};

const progress = (action: string, conclusion: "success" | "failure") =>
  action === "completed"
    ? { status: "completed", conclusion }
    : {
        status: action === "requested" || action === "created" ? "queued" : action,
        conclusion: null,
      };

const repository = {
  id: 1296269,
  name: "hello-world",
  full_name: "octocat/hello-world",
  private: false,
  owner: octocat,
  html_url: page,
  default_branch: "main",
};

export const githubSampleTypes: readonly string[] = Object.keys(sampleTypes);

export function githubSample(
  id: string,
  { type = "issues", action }: SampleVariant = {},
): Sample | undefined {
  const sampleType = Object.hasOwn(sampleTypes, type) ? sampleTypes[type] : undefined;
  if (!sampleType) return undefined;
  const sampleAction = action ?? sampleType.action;
  const { repository: sampleRepository = repository, ...body } = sampleType.body(
    sampleAction ?? "",
  );
  return {
    headers: {
      "content-type": "application/json",
      "user-agent": "GitHub-Hookshot/5160f3b",
      "x-github-delivery": id,
      "x-github-event": type,
      "x-github-hook-id": "90014",
    },
    body: {
      ...(sampleAction ? { action: sampleAction } : {}),
      ...body,
      ...(sampleRepository ? { repository: sampleRepository } : {}),
      sender: octocat,
    },
  };
}
