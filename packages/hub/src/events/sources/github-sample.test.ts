import { describe, expect, it } from "vitest";
import { summarizeGithub } from "./github.ts";
import { githubSample, githubSampleTypes } from "./github-sample.ts";

describe("a GitHub sample", () => {
  it("is an opened issue by default", () => {
    const sample = githubSample("delivery-1");
    expect(sample?.headers).toMatchObject({
      "x-github-event": "issues",
      "x-github-delivery": "delivery-1",
      "content-type": "application/json",
      "user-agent": expect.stringMatching(/^GitHub-Hookshot\//),
      "x-github-hook-id": expect.stringMatching(/^\d+$/),
    });
    expect(sample?.body).toMatchObject({ action: "opened", issue: { state: "open" } });
  });

  it.each(githubSampleTypes)("has a summary for the type %s", (type) => {
    const sample = githubSample("1", { type });
    expect(sample?.headers["x-github-event"]).toBe(type);
    const { title, url, sender, action } = summarizeGithub(type, sample?.body ?? {});
    expect(title).toBeTruthy();
    expect(url).toMatch(/^https:/);
    expect(sender).toBe("octocat");
    expect(action === null).toBe(type === "push" || type === "ping");
  });

  it("depends on the action", () => {
    expect(githubSample("1", { type: "issues", action: "closed" })?.body).toMatchObject({
      action: "closed",
      issue: { state: "closed" },
    });
    expect(githubSample("1", { type: "issues", action: "labeled" })?.body).toMatchObject({
      label: { name: "bug" },
    });
    expect(githubSample("1", { type: "pull_request", action: "synchronize" })?.body).toHaveProperty(
      "after",
    );
    expect(githubSample("1", { type: "pull_request", action: "closed" })?.body).toMatchObject({
      pull_request: { merged: true },
    });
    expect(githubSample("1", { type: "installation", action: "deleted" })?.body).toMatchObject({
      action: "deleted",
      installation: { account: { login: "octocat" } },
    });
    expect(githubSample("1", { type: "installation" })?.body).not.toHaveProperty("repository");
  });

  it("of a completed workflow run has failed, as agents usually wait for failures", () => {
    expect(githubSample("1", { type: "workflow_run" })?.body).toMatchObject({
      workflow_run: { status: "completed", conclusion: "failure" },
    });
  });

  it("is undefined for an unknown type", () => {
    expect(githubSample("1", { type: "nothing" })).toBeUndefined();
    expect(githubSample("1", { type: "toString" })).toBeUndefined();
  });
});
