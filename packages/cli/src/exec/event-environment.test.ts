import { expect, it } from "vitest";
import { eventEnvironment, labelOf } from "./event-environment.ts";

const event = {
  id: "an-id",
  type: "issues",
  source: "github",
  received_at: "2026-11-16T00:00:00.000Z",
  attempts: 2,
  action: "opened",
  repo: "octo/town",
  sender: "mona",
  number: 7,
  title: "It rains",
  url: "https://github.com/octo/town/issues/7",
};

it("sets variables for the summary of the event, the attempt and the URL of the hub", () => {
  expect(eventEnvironment(event, "http://127.0.0.1:4747", { PATH: "/bin" })).toEqual({
    PATH: "/bin",
    SIGNALBOX_EVENT_ID: "an-id",
    SIGNALBOX_EVENT_TYPE: "issues",
    SIGNALBOX_EVENT_ACTION: "opened",
    SIGNALBOX_EVENT_REPO: "octo/town",
    SIGNALBOX_EVENT_NUMBER: "7",
    SIGNALBOX_EVENT_TITLE: "It rains",
    SIGNALBOX_EVENT_URL: "https://github.com/octo/town/issues/7",
    SIGNALBOX_EVENT_SENDER: "mona",
    SIGNALBOX_EVENT_SOURCE: "github",
    SIGNALBOX_EVENT_RECEIVED_AT: "2026-11-16T00:00:00.000Z",
    SIGNALBOX_ATTEMPT: "2",
    SIGNALBOX_URL: "http://127.0.0.1:4747",
  });
});

it("sets variables for the conclusion, branch and commit of a workflow run", () => {
  const result = { conclusion: "failure", head_branch: "main", head_sha: "abc" };
  expect(eventEnvironment({ ...event, ...result }, "http://hub", {})).toMatchObject({
    SIGNALBOX_EVENT_CONCLUSION: "failure",
    SIGNALBOX_EVENT_HEAD_BRANCH: "main",
    SIGNALBOX_EVENT_HEAD_SHA: "abc",
  });
});

it("unsets the variables of missing fields, and does not inherit secrets of Signalbox", () => {
  const inherited = {
    SIGNALBOX_EVENT_REPO: "another event's",
    SIGNALBOX_TOKEN: "sbx_secret",
    SIGNALBOX_KEY: "secret",
    SIGNALBOX_SEND_SECRET: "secret",
    SIGNALBOX_DATA: "folder",
    ANTHROPIC_API_KEY: "the agent's own",
  };
  const env = eventEnvironment({ ...event, repo: null }, "http://hub", inherited);
  expect(env.SIGNALBOX_EVENT_REPO).toBeUndefined();
  expect(env).toMatchObject({ SIGNALBOX_DATA: "folder", ANTHROPIC_API_KEY: "the agent's own" });
  expect(Object.values(env).join()).not.toContain("secret");
});

it("replaces control characters in values, and truncates values to 4096 characters", () => {
  const title = `a\0b\n${"x".repeat(200_000)}`;
  const env = eventEnvironment({ ...event, title }, "http://hub", {});
  expect(env.SIGNALBOX_EVENT_TITLE).toMatch(/^a b x+…$/);
  expect(env.SIGNALBOX_EVENT_TITLE).toHaveLength(4_096);
});

it("labels an event with its type, action, repository and number", () => {
  expect(labelOf(event)).toBe("issues opened octo/town#7");
  expect(labelOf({ ...event, action: null, repo: null, number: null })).toBe("issues");
  expect(labelOf({ ...event, repo: "\u001b[31mred" })).toBe("issues opened red#7");
});
