import { generateKeyPairSync } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { startFakeGithub } from "../../../../../test/support/fake-github.ts";
import { readSettings } from "../../settings.ts";
import { checkGithubApp, describeRedelivery } from "./doctor-github.ts";

it("reports whether GitHub accepts the credentials, and where the App sends its webhooks", async () => {
  const github = await startFakeGithub();
  onTestFinished(() => github.close());
  const check = (webhookUrl?: string, env: Record<string, string> = {}) =>
    checkGithubApp(
      readSettings({ flags: {}, env: { ...github.env, ...env }, file: {} }),
      webhookUrl,
    );
  const ok = {
    check: "github app",
    state: "ok",
    says: "GitHub accepts the id and the key of the App Test",
  };
  expect(await check()).toEqual([ok]);
  github.webhook.url = "https://hub.test/webhooks/github";
  expect(await check("https://hub.test/webhooks/github")).toEqual([ok]);
  expect(await check("https://other.test/webhooks/github")).toMatchObject([
    ok,
    { state: "warning", says: "the App sends its webhooks to https://hub.test/webhooks/github" },
  ]);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const otherKey = privateKey.export({ type: "pkcs1", format: "pem" }) as string;
  expect(await check(undefined, { GITHUB_APP_PRIVATE_KEY: otherKey })).toMatchObject([
    {
      state: "problem",
      says: "GitHub returned 401: A JSON web token could not be decoded",
      fix: expect.stringContaining("GITHUB_APP_PRIVATE_KEY"),
    },
  ]);
  expect(await checkGithubApp(readSettings({ flags: {}, env: {}, file: {} }), undefined)).toEqual(
    [],
  );
});

it("reports the last check for failed webhooks, and warns if some were given up", () => {
  const sweep = {
    read_until: 0,
    cursor: null,
    newest_at: null,
    next_at: 0,
    completed_at: 0,
    error: null,
  };
  const counts = { open: 1, given_up: 0, delivered: 2 };
  expect(describeRedelivery(undefined, counts, 0)).toBeUndefined();
  expect(describeRedelivery(sweep, counts, 180_000)).toEqual({
    check: "redelivery",
    state: "ok",
    says: "failed webhooks were checked 3 min ago; 1 open, 2 redelivered, 0 given up",
  });
  expect(describeRedelivery(sweep, { ...counts, given_up: 1 }, 0)?.state).toBe("warning");
  expect(describeRedelivery({ ...sweep, error: "GitHub returned 401" }, counts, 0)).toMatchObject({
    state: "problem",
    says: "failed webhooks cannot be checked: GitHub returned 401",
  });
});
