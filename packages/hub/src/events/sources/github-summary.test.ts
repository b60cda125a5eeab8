import { createRequire } from "node:module";
import type { JsonObject } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { summarizeGithub } from "./github.ts";

// `require` instead of `import`, because the inferred type would be megabytes long.
const require = createRequire(import.meta.url);
interface Example {
  name: string;
  examples: JsonObject[];
}
const examples: Example[] = require("@octokit/webhooks-examples/api.github.com/index.json");
const examplesOf = (server: string): Example[] =>
  require(`@octokit/webhooks-examples/${server}/index.json`);
const fields = ["action", "repo", "sender", "number", "title", "url"] as const;
const types = examples.map(({ name }) => name);

const payloads = (type: string) => examples.find(({ name }) => name === type)?.examples ?? [];
const summarizeFirst = (type: string, action?: string) => {
  const payload = payloads(type).find((body) => action === undefined || body.action === action);
  if (!payload) throw new Error(`no example of ${type} ${action}`);
  return summarizeGithub(type, payload);
};

describe("all of GitHub's example payloads", () => {
  it("are the same payloads as when the snapshot was reviewed", () => {
    expect(types).toHaveLength(58);
    expect(examples.reduce((sum, { examples }) => sum + examples.length, 0)).toBe(329);
  });

  // The snapshot was reviewed by hand: a cell that becomes empty is a regression.
  it("yield the fields of the snapshot", async () => {
    await expect(table()).toMatchFileSnapshot("./__snapshots__/github-summaries.txt");
  });

  it("yield repository and sender if the payload has them", () => {
    for (const { name, examples: bodies } of examples)
      for (const body of bodies) {
        const { repo, sender } = summarizeGithub(name, body);
        const repository = body.repository as JsonObject | undefined;
        expect(repo, name).toBe(repository?.full_name ?? null);
        expect(sender, name).toBe((body.sender as JsonObject | undefined)?.login ?? null);
      }
  });

  it.each(["api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"])(
    "of %s yield the URL of a page, never of the API",
    (server) => {
      const urls = examplesOf(server).flatMap(({ name, examples: bodies }) =>
        bodies.map((body) => ({ name, url: summarizeGithub(name, body).url ?? null })),
      );
      const isApi = (url: string) => {
        const { hostname, pathname } = new URL(url);
        return hostname.startsWith("api.") || /^\/(?:api\/v3|repos)\//.test(pathname);
      };
      expect(urls.filter(({ url }) => url !== null && isApi(url))).toEqual([]);
      expect(urls.filter(({ url }) => url !== null).length).toBeGreaterThan(urls.length * 0.8);
    },
  );

  it("yield the number, and the URL of a web page", () => {
    for (const [type, subject] of Object.entries(numbered))
      for (const body of payloads(type)) {
        const { number, title, url } = summarizeGithub(type, body);
        expect(number, type).toBe((body[subject] as JsonObject).number);
        expect(title, type).toBeTruthy();
        expect(url, type).toMatch(/^https:\/\/github\.com\//);
      }
  });

  it("link to the comment instead of the commented object", () => {
    for (const [type, field] of Object.entries(commentFields))
      for (const body of payloads(type))
        expect(summarizeGithub(type, body).url, type).toBe((body[field] as JsonObject).html_url);
  });
});

const numbered = {
  code_scanning_alert: "alert",
  dependabot_alert: "alert",
  discussion: "discussion",
  discussion_comment: "discussion",
  issue_comment: "issue",
  issues: "issue",
  milestone: "milestone",
  project: "project",
  pull_request: "pull_request",
  pull_request_review: "pull_request",
  pull_request_review_comment: "pull_request",
  pull_request_review_thread: "pull_request",
};
const commentFields = {
  commit_comment: "comment",
  discussion_comment: "comment",
  issue_comment: "comment",
  pull_request_review: "review",
  pull_request_review_comment: "comment",
};

describe("a summary", () => {
  const repo = "https://github.com/Codertocat/Hello-World";

  it("of an issue has all fields", () => {
    expect(summarizeFirst("issues", "opened")).toEqual({
      action: "opened",
      repo: "Codertocat/Hello-World",
      sender: "Codertocat",
      number: 1,
      title: "Spelling error in the README file",
      url: `${repo}/issues/1`,
    });
  });

  it("of a comment links to the comment", () => {
    expect(summarizeFirst("issue_comment", "created")).toMatchObject({
      number: 1,
      title: "Spelling error in the README file",
      url: `${repo}/issues/1#issuecomment-492700400`,
    });
  });

  it("of a push contains the branch and the head commit", () => {
    const push = payloads("push").find(({ ref }) => ref === "refs/heads/master") as JsonObject;
    expect(summarizeGithub("push", push)).toMatchObject({
      action: null,
      title: "master 6113728: Initial commit",
      url: `${repo}/commit/6113728f27ae82c7b1a177c8d03f9e96e0adf246`,
    });
    expect(summarizeGithub("push", { ...push, head_commit: null, deleted: true })).toMatchObject({
      title: "master: deleted",
    });
    expect(
      summarizeGithub("push", {
        ref: "refs/heads/fix/refs/heads/x",
        head_commit: {
          id: "abcdef0123",
          message: "\n  First line\r\nand more",
          url: "https://x/1",
        },
        pusher: { name: "octocat" },
      }),
    ).toEqual({
      action: null,
      repo: null,
      sender: "octocat",
      number: null,
      title: "fix/refs/heads/x abcdef0: First line",
      url: "https://x/1",
    });
  });

  it("of a push names the sender, not the pusher, who can be the owner of a deploy key", () => {
    const body = { sender: { login: "octocat" }, pusher: { name: "a-deploy-key" } };
    expect(summarizeGithub("push", body).sender).toBe("octocat");
  });

  it("of a release has the name of the release as its title, or else the tag", () => {
    expect(summarizeFirst("release", "published").title).toBe("0.0.1");
    expect(summarizeGithub("release", { release: { name: "Big one", tag_name: "v2" } }).title).toBe(
      "Big one",
    );
  });

  it("of a check, a job or a status contains its result", () => {
    expect(summarizeFirst("check_run", "completed")).toMatchObject({
      number: 2,
      title: "Octocoders-linter: failure",
      url: `${repo}/runs/128620228`,
    });
    expect(summarizeFirst("workflow_job", "completed").title).toBe("CodeQL / linters: failure");
    expect(summarizeFirst("status").title).toBe("default: success");
  });

  it("of a workflow run has the name of the workflow as its title", () => {
    const [unnamed] = payloads("workflow_run").filter((body) => body.action === "requested");
    expect(summarizeGithub("workflow_run", unnamed as JsonObject)).toMatchObject({
      action: "requested",
      title: "test",
      url: "https://github.com/octo-org/octo-repo/actions/runs/289782451",
    });
    const run = { name: "CI", display_title: "Fix it\nnow", conclusion: "failure" };
    const title = (body: JsonObject) => summarizeGithub("workflow_run", body).title;
    expect(title({ workflow: { name: "Build" }, workflow_run: run })).toBe("Build");
    expect(title({ workflow: null, workflow_run: run })).toBe("CI");
    expect(title({ workflow_run: { ...run, name: null } })).toBe("Fix it");
  });

  it("of a workflow or a check has the conclusion, the branch and the commit", () => {
    expect(summarizeFirst("workflow_run", "completed")).toMatchObject({
      number: 36,
      title: "Manually triggered workflow",
      check_result: {
        conclusion: null,
        head_branch: "main",
        head_sha: "5779607b49aab1200488439f02372c57b4f75444",
      },
    });
    const head_sha = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";
    for (const [type, conclusion] of [
      ["check_suite", "success"],
      ["check_run", "failure"],
    ] as const)
      expect(summarizeFirst(type, "completed").check_result).toEqual({
        conclusion,
        head_branch: "changes",
        head_sha,
      });
    expect(summarizeFirst("workflow_job", "completed").check_result).toMatchObject({
      conclusion: "failure",
      head_sha: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    expect(summarizeFirst("issues", "opened").check_result).toBeUndefined();
  });

  it.each([
    ["check_suite", "completed", `${repo}/commit/ec26c3e57ca3a959ca5aad62de7213c562f8c821/checks`],
    ["deploy_key", "created", `${repo}/settings/keys`],
    ["label", "created", `${repo}/labels/%3Abug%3A%20Bugfix`],
    ["label", "deleted", `${repo}/labels`],
    ["organization", "renamed", "https://github.com/Octocoders"],
    ["page_build", undefined, `${repo}/commit/507fc9acd0d04ac4a9db87d12cb228c052cd813a`],
    ["project_card", "created", repo],
  ])("of %s %s links to a page, although the payload has none", (type, action, url) => {
    expect(summarizeFirst(type, action).url).toBe(url);
  });

  it("links to pages of the server that the payload is from", () => {
    const body = {
      repository: { html_url: "https://ghe.example/o/r" },
      check_suite: { head_sha: "abc", url: "https://ghe.example/api/v3/repos/o/r/check-suites/1" },
    };
    expect(summarizeGithub("check_suite", body).url).toBe(
      "https://ghe.example/o/r/commit/abc/checks",
    );
    expect(summarizeGithub("check_suite", { ...body, check_suite: {} }).url).toBe(
      "https://ghe.example/o/r",
    );
  });

  it.each([
    "https://api.github.com/repos/o/r/things/1",
    "http://API.github.com",
    "https://api.acme.ghe.com/repos/o/r/things/1",
    "https://ghe.example:8443/api/v3/repos/o/r/things/1",
  ])("of an unlisted type does not link to the API: %s", (url) => {
    expect(summarizeGithub("thing", { thing: { url } }).url).toBeNull();
    expect(summarizeGithub("thing", { thing: { html_url: url } }).url).toBeNull();
  });

  it.each([
    "https://api.example.com/",
    "https://github.com/api/v3x",
    "https://api.github.community/",
  ])("links to pages that only resemble the API: %s", (environment_url) => {
    const body = { deployment_status: { environment_url } };
    expect(summarizeGithub("deployment_status", body).url).toBe(environment_url);
  });

  it.each([
    ["create", "tag simple-tag", repo],
    ["delete", "tag simple-tag", repo],
    ["deployment", "production: master", `${repo}/deployments`],
    ["deployment_status", "production: success", `${repo}/deployments`],
    ["fork", "Octocoders/Hello-World", "https://github.com/Octocoders/Hello-World"],
    ["gollum", "Home", `${repo}/wiki/Home`],
    ["member", "hacktocat", "https://github.com/hacktocat"],
    ["star", "Codertocat/Hello-World", repo],
    ["repository_vulnerability_alert", "rack: CVE-2018-16470", expect.stringContaining("nvd")],
  ])("of %s has a title and a URL", (type, title, url) => {
    expect(summarizeFirst(type)).toMatchObject({ title, url });
  });

  it.each(["organization", "installation", "sponsorship", "membership", "security_advisory"])(
    "of %s has no repository, but a title",
    (type) => {
      expect(summarizeFirst(type)).toMatchObject({ repo: null, title: expect.any(String) });
    },
  );

  it("of a wiki edit has the action of the page", () => {
    expect(summarizeFirst("gollum").action).toBe("edited");
  });

  it("of an unlisted type uses the field of the same name", () => {
    expect(
      summarizeGithub("moon_landing", {
        action: "landed",
        moon_landing: { number: 11, name: "Eagle", html_url: "https://github.com/moon/11" },
      }),
    ).toMatchObject({
      action: "landed",
      number: 11,
      title: "Eagle",
      url: "https://github.com/moon/11",
    });
    expect(summarizeGithub("issue_thing", { issue: { number: 3, title: "Three" } })).toMatchObject({
      number: 3,
      title: "Three",
      url: null,
    });
  });

  it("contains only http(s) links", () => {
    for (const html_url of ["javascript:alert(1)", "data:text/html,x", "//evil", 7, null])
      expect(summarizeGithub("issues", { issue: { html_url } }).url).toBeNull();
  });
});

describe("any JSON object", () => {
  /** Payloads with GitHub's field names at every depth and arbitrary values. */
  const names = fc.constantFrom(
    ...new Set(examples.flatMap(({ examples }) => examples.flatMap((body) => Object.keys(body)))),
    "number",
    "title",
    "name",
    "html_url",
    "url",
    "login",
    "full_name",
    "id",
    "message",
    "0",
    ..."__proto__ constructor length toString".split(" "),
  );
  const { value } = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue(),
      fc.constantFrom("", " ", "refs/heads/", "https://x", -0, 1.5, 1e300, true, null),
      fc.array(tie("value"), { maxLength: 2 }),
      tie("object"),
    ),
    object: fc.dictionary(names, tie("value"), { maxKeys: 6 }),
  }));
  const body = fc.dictionary(names, value, { maxKeys: 12 }) as fc.Arbitrary<JsonObject>;
  const type = fc.oneof(fc.constantFrom(...types), fc.string(), names);

  it("yields texts, an integer, or null", () => {
    fc.assert(
      fc.property(type, body, (type, body) => {
        const summary = summarizeGithub(type, body);
        const { check_result, ...rest } = summary;
        expect(Object.keys(rest)).toEqual([...fields]);
        for (const text of Object.values(check_result ?? {}))
          expect(text === null || (typeof text === "string" && text.trim() !== "")).toBe(true);
        for (const field of fields) {
          const value = summary[field];
          if (value === null) continue;
          if (field === "number") expect(Number.isSafeInteger(value)).toBe(true);
          else expect(typeof value === "string" && value.trim() !== "").toBe(true);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it("yields null for values of other types", () => {
    const issue = { number: 1.5, title: { nested: "x" }, html_url: ["https://x"] };
    expect(summarizeGithub("issues", { issue, action: 3, repository: "x", sender: [] })).toEqual({
      action: null,
      repo: null,
      sender: null,
      number: null,
      title: null,
      url: null,
    });
  });
});

/** Formats the snapshot as plain text, because the formatter of the repository rewrites Markdown. */
function table(): string {
  const rows = examples.flatMap(({ name, examples: bodies }) =>
    [...Map.groupBy(bodies, ({ action }) => String(action ?? "-")).entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([action, group]) => {
        const summaries = group.map((body) => summarizeGithub(name, body));
        const filled = fields.map((field) => {
          const count = summaries.filter((summary) => summary[field] !== null).length;
          return count === 0 ? "." : count === group.length ? "x" : `${count}/${group.length}`;
        });
        const example = summaries.find(({ title }) => title !== null) ?? summaries[0];
        return [name, action, ...filled, example?.number, example?.title, example?.url].map(
          (cell) => String(cell ?? ""),
        );
      }),
  );
  const header = [
    "type",
    "action",
    ...fields.map((field) => field.slice(0, 3)),
    "#",
    "title",
    "url",
  ];
  const all = [header, ...rows];
  const widths = header.map((_, at) =>
    Math.min(60, Math.max(...all.map((row) => row[at]?.length ?? 0))),
  );
  const line = (row: string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  return [
    "The summary fields of GitHub's example payloads. Generated by github-summary.test.ts from @octokit/webhooks-examples.",
    "x: in every payload of this type and action; 1/2: in one of two; a dot: in none. #, title and url are an example.",
    "",
    ...all.map(line),
    "",
  ].join("\n");
}
