import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { startFakeGithub } from "../../../../test/support/fake-github.ts";
import { createGithubApp } from "./github-app.ts";

async function setUp(options: { id?: string; privateKey?: string; now?: () => number } = {}) {
  const github = await startFakeGithub();
  onTestFinished(() => github.close());
  const app = await createGithubApp(
    { id: options.id ?? github.app.id, privateKey: options.privateKey ?? github.app.privateKey },
    { apiUrl: github.apiUrl, fetch, now: options.now ?? Date.now },
  );
  return { github, app };
}

const otherKey = () =>
  generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({
    type: "pkcs8",
    format: "pem",
  }) as string;

describe("the JWT", () => {
  it.each([
    ["a correct clock", 0],
    ["a clock 50 s ahead", 50_000],
    ["a clock 110 s behind", -110_000],
  ])("is accepted from a hub with %s", async (_, skew) => {
    const { app } = await setUp({ now: () => Date.now() + skew });
    expect(await app.getApp()).toMatchObject({ outcome: "ok", value: { slug: "signalbox-test" } });
  });

  it("is rejected with GitHub's message if the key or the id is wrong", async () => {
    const wrongKey = await setUp({ privateKey: otherKey() });
    expect(await wrongKey.app.getApp()).toEqual({
      outcome: "failed",
      status: 401,
      message: "GitHub returned 401: A JSON web token could not be decoded",
    });
    const wrongId = await setUp({ id: "1" });
    expect(await wrongId.app.getApp()).toMatchObject({ outcome: "failed", status: 401 });
  });

  it("cannot be created with PEM that contains no key", async () => {
    const privateKey = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
    await expect(setUp({ privateKey })).rejects.toMatchObject({ code: "github_app_key" });
  });
});

describe("getInstallation", () => {
  it("returns the account, and whether the installation is suspended", async () => {
    const { app, github } = await setUp();
    github.addUser("octocat", { id: 1 });
    github.addOrganization("acme", { id: 2 });
    const ofUser = github.install("octocat").id;
    const ofOrganization = github.install("acme").id;
    github.suspendInstallation(ofOrganization);
    expect(await app.getInstallation(String(ofUser))).toMatchObject({
      outcome: "ok",
      value: {
        id: String(ofUser),
        account: { id: "1", login: "octocat", type: "User" },
        isSuspended: false,
      },
    });
    expect(await app.getInstallation(String(ofOrganization))).toMatchObject({
      value: { account: { id: "2", login: "acme", type: "Organization" }, isSuspended: true },
    });
  });

  it("returns not_found for a deleted installation", async () => {
    const { app, github } = await setUp();
    github.addUser("octocat");
    const { id } = github.install("octocat");
    github.uninstall(id);
    expect(await app.getInstallation(String(id))).toEqual({ outcome: "not_found" });
  });
});

describe("errors of GitHub", () => {
  it.each([403, 429] as const)(
    "returns when to retry after a rate limit with status %i",
    async (status) => {
      const { app, github } = await setUp({ now: () => Date.now() });
      github.limitRate(1, { status, retryAfter: 30 });
      const before = Date.now();
      const answer = await app.getApp();
      if (answer.outcome !== "rate_limited") throw new Error(answer.outcome);
      expect(answer.retryAt).toBeGreaterThanOrEqual(before + 30_000);
      expect(answer.retryAt).toBeLessThanOrEqual(Date.now() + 30_000);
      expect(await app.getApp()).toMatchObject({ outcome: "ok" });
    },
  );

  it.each([
    [
      "has the time of its reset",
      403,
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "90" },
      90_000,
    ],
    ["has no time", 429, {}, 61_000],
  ])("returns when to retry if a rate limit %s", async (_, status, headers, retryAt) => {
    const { github } = await setUp();
    const app = await createGithubApp(github.app, {
      apiUrl: "https://api.test",
      fetch: async () => new Response("{}", { status, headers }),
      now: () => 1000,
    });
    expect(await app.getApp()).toMatchObject({ outcome: "rate_limited", retryAt });
  });

  it("names the URL in the message if GitHub does not respond, or responds unexpectedly", async () => {
    const { github } = await setUp();
    const create = (fetch: () => Promise<Response>) =>
      createGithubApp(github.app, { apiUrl: "https://api.test", fetch, now: () => 0 });
    const silent = await create(async () => {
      throw new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    });
    expect(await silent.getApp()).toEqual({
      outcome: "failed",
      status: null,
      message: "https://api.test/app does not respond: connect ECONNREFUSED",
    });
    const page = await create(async () => new Response("<html>"));
    expect(await page.getApp()).toMatchObject({
      outcome: "failed",
      message: expect.stringContaining("https://api.test/app returned an unexpected body"),
    });
    const redirect = await create(async () => Response.redirect("https://elsewhere.test/"));
    expect(await redirect.getApp()).toMatchObject({ outcome: "failed", status: 302 });
  });
});
